"""Questions about methods and models, each with its command, duration and result: see README.md."""
