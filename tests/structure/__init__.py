"""`make structure`: figures about the structure of the code: circular imports, lengths, types, names.

It reads files and does not import the measured code, so `python -m tests.structure --root CHECKOUT` measures an old
commit by the current rules. The docstring of each module explains what it counts.
"""
