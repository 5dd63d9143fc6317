"""Benchmarks of users' own files: `lumos evaluate FILE`."""
