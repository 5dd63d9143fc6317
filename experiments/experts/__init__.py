"""How good the experts are on held-out generated data, and what a plan loses without each: see docs/experts.md."""
