"""The four kinds of job, convert, train, infer and evaluate: frozen values with the same interface (base.py)."""
