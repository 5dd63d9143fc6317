"""What the larger pages show, read from the database: no HTML."""
