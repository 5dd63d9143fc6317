"""Rules that split a question over texts into steps, each with the words that answer it."""
