"""Texts that are sent to models, and conversations from records."""
