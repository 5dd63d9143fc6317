"""ASDiv."""
