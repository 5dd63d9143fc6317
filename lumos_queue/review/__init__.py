"""Add labels, corrections and scores to stored episodes."""
