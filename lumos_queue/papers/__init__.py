"""The tables of the LUMOS papers: what was published, and what stored jobs of the same configuration come to."""
