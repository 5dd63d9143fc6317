"""Fit small planners and grounders: read conversations and write a `transformers` folder."""
