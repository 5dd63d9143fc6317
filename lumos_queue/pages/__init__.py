"""Pages on jobs to read and to share: a single file without scripts, as HTML or as Markdown."""
