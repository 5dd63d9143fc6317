"""Mind2Web."""
