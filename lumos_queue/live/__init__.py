"""Read the current state of jobs from the database: their figures, pace and errors, and what they wait for."""
