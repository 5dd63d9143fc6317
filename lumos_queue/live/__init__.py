"""The current state of jobs: figures, pace, errors and waits, as of one read of the database."""
