"""The sections of a page on jobs: each yields blocks, or no blocks if it would be empty."""
