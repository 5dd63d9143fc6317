"""The users of the explorer and their permissions."""
