"""Rows with rationales → checked LUMOS annotations, by rule or by a teacher, with a verdict for each problem."""
