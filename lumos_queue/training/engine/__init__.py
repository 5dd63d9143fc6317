"""The engine of all fits of language models: `transformers.Trainer`, split into windows of optimizer steps."""
