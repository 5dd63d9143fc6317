"""StrategyQA."""
