"""Recorded searches of tool agents: ToolBench's answer files as stored episodes, and stored episodes as such files."""
