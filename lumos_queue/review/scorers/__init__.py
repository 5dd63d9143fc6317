"""Scorers judge stored episodes without running them again."""
