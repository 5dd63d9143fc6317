"""The sections of a page on jobs: each gives blocks from what was read, and none where there is nothing to say."""
