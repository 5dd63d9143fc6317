"""The four kinds of job: convert, train, infer, evaluate. Frozen values of one shape."""
