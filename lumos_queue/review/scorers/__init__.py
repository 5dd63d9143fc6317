"""Scorers: judgements that are added to stored episodes, without running anything again."""
