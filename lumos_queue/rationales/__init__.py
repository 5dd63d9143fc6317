"""Rules that turn a gold rationale, in words, calculator marks or SQL, into subgoals and actions."""
