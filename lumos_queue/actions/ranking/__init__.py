"""Rankers: which texts fit a query best. Lexical by default, neural with a folder of weights."""
