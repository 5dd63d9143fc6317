"""Spider."""
