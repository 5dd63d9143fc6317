"""Measure the similarity of two pictures, two texts, or a picture and a text. A measure without weights is not run."""
