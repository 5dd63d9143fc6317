"""Domains: what is particular to the maths, question answering, web, image, shop and SQL tasks, one object for each."""
