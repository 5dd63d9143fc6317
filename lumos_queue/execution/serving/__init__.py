"""Serve recorded answers of APIs, and experts, to other programs over HTTP."""
