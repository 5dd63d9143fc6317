"""Small helpers that know nothing of agents: text, paths, processes, images."""
