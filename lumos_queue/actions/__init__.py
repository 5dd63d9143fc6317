"""The actions of each domain, and their descriptions for the grounder."""
