"""States, kinds and values that the columns of tables hold. Other packages may import them; they need no database."""
