"""Expert models: what is known of each, plans that compose them, and what runs them (backends/)."""
