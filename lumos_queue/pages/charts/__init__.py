"""Charts as SVG text: pure functions, without scripts. The style sheet of the page has the colours."""
