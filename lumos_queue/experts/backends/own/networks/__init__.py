"""Small networks for `own:PATH`. They know sizes alone: words, labels and what they were trained on are in configs."""
