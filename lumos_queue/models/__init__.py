"""Model folders: download base models, prepare their tokenizers, merge adapters into them, and serve a model."""
