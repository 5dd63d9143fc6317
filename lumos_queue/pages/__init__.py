"""Write pages on jobs to read and to share: each is a single file without scripts, in HTML or Markdown."""
