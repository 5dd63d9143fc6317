"""Published data files → rows."""
