"""Models of transformers, in the process of an expert."""
