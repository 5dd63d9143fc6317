"""The one engine of all fits of language models: `transformers.Trainer`, cut into windows of optimizer steps."""
