"""Small networks for `own:PATH`. They know only sizes: words, labels and training settings are in configs."""
