"""The tables of the papers on LUMOS and on tool agents: the published figures, and those of stored jobs that match."""
