"""Which texts fit a query best: rankers, lexical by default, neural ones where their weights are given."""
