"""Serve recorded answers to third-party agents."""
