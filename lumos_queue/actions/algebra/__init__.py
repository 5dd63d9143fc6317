"""Formulas and their values: from text to tokens to a tree, and from the tree to text and to the JSON that is stored.

The maths actions and the action Code use it.
"""
