"""A named model behind an address: `tgi://`, `openai://`, `chat://`, `local:`, `scripted:`."""
