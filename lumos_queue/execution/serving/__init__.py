"""Serving recorded answers to agents of others."""
