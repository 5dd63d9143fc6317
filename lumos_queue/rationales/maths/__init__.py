"""Solutions of word problems → Calculator actions."""
