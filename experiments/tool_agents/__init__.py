"""Tool agents under faults: a small generated set of tools, scripted models, and how often their answers are right."""
