"""Experts with a network of `own:PATH`. They run in the process of an expert, from bytes to bytes."""
