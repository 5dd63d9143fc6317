"""What agents can do: each domain's actions, and how they are described to the grounder."""
