"""Small helpers that do not depend on agents: text, paths, processes, images."""
