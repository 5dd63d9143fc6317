"""WebShop: a shop of text pages, its actions, and the reward for a purchase."""
