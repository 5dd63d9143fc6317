"""ToolWorld with scripted policies: when ReAct, DFSDT and Sum2Act can be told apart."""
