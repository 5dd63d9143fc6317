"""The orders in which planning, grounding and executing take turns. Pure generators: commands out, results in."""
