"""Split questions about texts into steps by rules. Each step has the words that answer it."""
