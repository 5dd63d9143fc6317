"""How experts run: by rule, by packages that bring weights, by the checkpoints of the paper, on other hosts."""
