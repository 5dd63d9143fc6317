"""How alike two pictures, two texts, or a picture and a text are. Measures that need weights are `not run` without."""
