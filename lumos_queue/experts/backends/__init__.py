"""How experts run: by rule, by packages that bring weights, by checkpoints from a local folder, by oracles."""
