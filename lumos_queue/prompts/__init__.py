"""The texts that are sent to models, the readers of their replies, and conversations that are made from records."""
