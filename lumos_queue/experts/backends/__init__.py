"""Backends of experts: rules, packages that contain weights, checkpoints from a local folder, oracles, servers."""
