"""Calls that tool agents write as text: in three lines, and with Markdown and other labels."""
