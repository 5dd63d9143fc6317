"""What models are told, and conversations made from records."""
