"""`make structure`: how the code is built, in figures: circles of imports, lengths, types, names.

It reads files and imports nothing of what it measures, so `python -m tests.structure --root CHECKOUT` measures an old
commit by today's rules. Each module says how it counts.
"""
