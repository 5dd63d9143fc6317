"""The recorded steps of an episode: rows, prompts, long texts and artifacts."""
