"""The web pages of Mind2Web's recordings: their elements, and actions that select an element by a description."""
