"""WebShop's tasks, in a generated shop or in WebShop's own shop."""
