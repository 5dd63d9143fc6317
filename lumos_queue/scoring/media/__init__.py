"""Similarity of two pictures, two texts, or a picture and a text. Measures without their weights are `not run`."""
