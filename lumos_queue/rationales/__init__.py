"""A gold rationale in words, marks or SQL → subgoals and actions, by rule."""
