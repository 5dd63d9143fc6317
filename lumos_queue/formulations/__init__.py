"""Formulations: the order in which planning, grounding and executing take turns. They are generators without side
effects, which yield commands and receive the results."""
