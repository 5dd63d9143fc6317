"""Carry out the commands of formulations: ask models, run actions, call external tools."""
