"""Code: what a model wrote to be run, in pseudo-code or Python, inside an interpreter without access to its host."""
