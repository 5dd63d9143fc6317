"""Benchmarks of people's own files: `lumos evaluate FILE`."""
