"""Continue stored episodes with replaced replies, to find the module at fault, and from prefixes, to label subgoals."""
