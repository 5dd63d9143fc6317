"""Pictures of every page of the explorer, for the documentation and for review."""
