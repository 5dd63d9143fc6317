"""Recorded searches of tool agents: import ToolBench's answer files as episodes, and export episodes as such files."""
