"""Experts by rule that know how the generated data are made. They are baselines, and tests run them."""
