"""Solved examples that stand before the task, for domains that a model was not trained on."""
