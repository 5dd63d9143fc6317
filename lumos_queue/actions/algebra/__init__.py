"""Parse and write formulas: text becomes tokens, then a tree; the tree becomes text and the JSON that is stored.

The maths actions and the action Code use this package.
"""
