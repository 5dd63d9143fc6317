"""What happens to jobs right now: figures, pace, errors and what they wait for, as of one look at the database."""
