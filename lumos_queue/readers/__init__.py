"""Read the rows of published data files."""
