"""Rankers score texts by how well they fit a query. The default is lexical; neural rankers need a folder of weights."""
