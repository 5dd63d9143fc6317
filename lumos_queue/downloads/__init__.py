"""The catalogue of public data files, and their download."""
