"""Connections to the database, its dialects, bulk writes, migrations and backups."""
