"""The database: what is stored, how work is claimed and finished, how steps are written and trajectories read."""
