"""Episodes that come from elsewhere: imports, repeats, adopted and requeued episodes."""
