"""Requests: each kind of job has one frozen dataclass, whose fields declare the options of all entrances."""
