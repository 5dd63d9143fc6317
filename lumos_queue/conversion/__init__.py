"""Gold solutions in LUMOS form, made from what a benchmark's rows state."""
