"""The tables of papers, of LUMOS and of tool agents: the published figures, and those of stored jobs that match."""
