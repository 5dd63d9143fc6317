"""Run all fits of language models with `transformers.Trainer`, in windows of optimizer steps."""
