"""The database: tables, claims and commits of work, the journal of steps, and queries."""
