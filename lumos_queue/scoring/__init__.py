"""Judging answers, and the uncertainty of scores."""
