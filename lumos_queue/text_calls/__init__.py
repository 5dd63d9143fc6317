"""Read calls that tool agents write as text, in three lines or with Markdown and other labels."""
