"""ToolBench."""
