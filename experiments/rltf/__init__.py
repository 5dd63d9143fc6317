"""What a planner learns from the rewards of its executed plans, beside what it could be compared with."""
