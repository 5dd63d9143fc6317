"""Carry out commands: ask models, run actions, call external tools."""
