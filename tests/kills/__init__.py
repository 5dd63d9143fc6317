"""Processes that work on tool agents' jobs, killed with SIGKILL at every step or at random instants (`make kills`)."""
