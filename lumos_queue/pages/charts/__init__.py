"""Charts as SVG: small pure functions from data to text, drawn without scripts and coloured by the page's style."""
