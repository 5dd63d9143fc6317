"""Open-ended tasks."""
