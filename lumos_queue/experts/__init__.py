"""Expert models: a catalogue of them, plans that compose them, and the backends that run them."""
