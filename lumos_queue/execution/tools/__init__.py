"""External tools: called safely, recorded, and answered from recordings."""
