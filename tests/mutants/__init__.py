"""`make mutants`: how many small changes to the core the tests notice (docs/decisions/0024).

`groups.toml` lists modules with their tests; `equivalents.toml` lists changes that no test can notice, with reasons.
"""
