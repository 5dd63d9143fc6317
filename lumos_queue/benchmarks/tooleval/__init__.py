"""ToolEval."""
