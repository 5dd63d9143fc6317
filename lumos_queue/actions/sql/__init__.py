"""The actions of InterCode-SQL: they describe a database, and run statements on a throw-away copy of it."""
