"""ScienceQA."""
