"""Experts that follow rules instead of a model: they know how the generated data are made. They serve as baselines."""
