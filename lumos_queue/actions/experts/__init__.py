"""Runs of expert models on lists of images and texts."""
