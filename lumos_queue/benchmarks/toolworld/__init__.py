"""ToolWorld."""
