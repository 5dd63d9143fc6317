"""Convert rows with rationales to LUMOS annotations, by rules or a teacher, and check them. Problems are verdicts."""
