"""`python -m tests.structure.rename_only OLD_TREE NEW_TREE [--map FILE]`: does a change rename, and nothing else?

Two trees are equal if their Python files have the same syntax trees, apart from docstrings, names of local variables,
and the names that a mapping file lists. Comments and formatting are not in a syntax tree. Each name is resolved to the
scope that binds it, in both trees. A new name that another variable captures, or that captures one, is refused.

The tool does not know the types of objects. It accepts a renamed attribute of an unknown object, and a name in a
string, only if the mapping lists it, and prints a list of what a person must check.
"""
