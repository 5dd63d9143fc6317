"""Functions of documented APIs, as tool agents call them."""
