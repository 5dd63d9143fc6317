"""Rules that convert a gold rationale (text, calculator marks or SQL) into subgoals and actions."""
