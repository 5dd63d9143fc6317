"""Models of transformers and diffusers that run in the process of an expert."""
