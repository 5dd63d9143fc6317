"""Import recorded searches of tool agents, ToolBench's answer files, as episodes, and export episodes as such files."""
