"""WebShop's tasks, in a generated shop or in its own."""
