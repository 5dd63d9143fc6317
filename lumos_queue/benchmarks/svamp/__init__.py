"""SVAMP."""
