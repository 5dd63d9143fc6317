"""A-OKVQA."""
