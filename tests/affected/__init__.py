"""`make test-affected`: run the tests that a change can affect.

The files of the repository are the nodes of a graph. An edge leads from a file to a file that it can depend on: an
import (grimp), or a dependency that imports do not show. `text_edges` follows names of modules in strings, `file_edges`
names of data files, `fixture_edges` the fixtures that a test uses, and `rules.toml` lists the dependencies that no file
shows. A test file is chosen if a changed file can be reached from it. See docs/decisions/0045.
"""
