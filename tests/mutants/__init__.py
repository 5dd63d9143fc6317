"""`make mutants`: how many small changes to the core the tests notice (docs/decisions/0024).

`groups.toml` says which tests belong to which modules, `equivalents.toml` which changes no test can notice, and why.
"""
