"""The deployment that a process works in: its settings, its database and its lease."""
