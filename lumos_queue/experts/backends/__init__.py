"""Backends run experts: rules, packages with weights, checkpoints from a local folder, oracles, and servers."""
