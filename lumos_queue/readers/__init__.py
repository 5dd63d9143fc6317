"""Files of others → rows."""
