"""Composes problems from quantities, the relations between them, and a clause for each quantity."""
