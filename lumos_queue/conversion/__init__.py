"""Convert rows with rationales to LUMOS annotations, by rules or by a teacher, and check them. Problems are verdicts."""
