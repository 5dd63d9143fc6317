"""Jobs as pages to read and to send: one file without scripts, as HTML or as Markdown."""
