"""Draw charts as SVG text without scripts, by pure functions. The style sheet of the page has the colours."""
