"""`make docs-reference`: the pages of docs/ that are written from the code, and a test compares with it.

docs/commands.md comes from the command line itself, docs/settings.md from the class of settings.
"""
