"""Sources of gold rationales: one file for each, which ends in `source = …`."""
