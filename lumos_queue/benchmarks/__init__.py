"""Benchmarks: each package reads the tasks of a data set and scores the answers to them."""
