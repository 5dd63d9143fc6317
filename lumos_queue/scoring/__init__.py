"""Judging answers, and how sure a score is."""
