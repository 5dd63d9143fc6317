"""The project's own word problems, generated."""
