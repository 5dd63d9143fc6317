"""Pictures of every page of the explorer, for the documents and to look at."""
