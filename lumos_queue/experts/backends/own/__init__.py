"""Experts of this project's own: rules that need nothing but numpy and Pillow."""
