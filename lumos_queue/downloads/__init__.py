"""Public data files: which there are, and how to get one."""
