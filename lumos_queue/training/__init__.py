"""Fitting small planners and grounders: conversations in, a `transformers` folder out."""
