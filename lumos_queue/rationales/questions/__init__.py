"""Questions over texts → steps, each with the words that answer it."""
