"""The explorer: view, label and correct stored episodes in a browser, and build training sets from them."""
