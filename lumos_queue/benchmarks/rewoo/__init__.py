"""ReWOO's planner data."""
