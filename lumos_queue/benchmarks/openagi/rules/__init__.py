"""Experts by rule that know how the generated data are made: baselines, and what tests run."""
