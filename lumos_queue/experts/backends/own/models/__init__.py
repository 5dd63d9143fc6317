"""Experts with a network of `own:PATH`, in the process of an expert: from bytes to bytes."""
