"""The explorer: stored jobs and episodes in a browser, to look at, label, correct and build from."""
