"""The pages of the explorer. Each module has a router, and each route names the role that it needs."""
