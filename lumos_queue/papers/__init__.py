"""The tables of the LUMOS papers: the published figures, and those of stored jobs of the same configuration."""
