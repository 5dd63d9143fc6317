"""`make test-affected`: run the tests that a change can touch.

The files of the repository are the nodes of a graph. An edge leads from a file to a file that it can depend on:
an import (grimp), or one of the dependencies that imports do not show. `text_edges` follows names of modules in strings,
`file_edges` names of data files, `fixtures` what a conftest.py gives to a test, and `rules.toml` what is written nowhere
in the code. A test file is chosen if a changed file can be reached from it. See docs/decisions/0045.
"""
