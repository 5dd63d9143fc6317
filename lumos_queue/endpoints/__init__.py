"""A named model behind an address: `tgi://`, `openai://`, `local:`, `scripted:`."""
