"""`make docs-reference`: write the pages of docs/ that come from the code. A test compares them with it.

docs/commands.md comes from the command line itself, docs/settings.md from the class of settings.
"""
