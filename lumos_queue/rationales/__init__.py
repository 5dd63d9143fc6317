"""Convert gold rationales (text, calculator marks or SQL) into subgoals and actions by rules."""
