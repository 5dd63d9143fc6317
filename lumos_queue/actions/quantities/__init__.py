"""Answers as values that can be compared: numbers with units, dates, yes, no."""
