"""The action Code: a model's pseudo-code or Python runs in an interpreter without access to its host."""
