"""Calls that tool agents write as text: the three lines, and the same behind Markdown and other labels."""
