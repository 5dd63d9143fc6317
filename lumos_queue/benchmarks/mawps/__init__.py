"""MAWPS."""
