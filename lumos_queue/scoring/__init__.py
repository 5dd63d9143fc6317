"""Judge answers, and measure the uncertainty of scores."""
