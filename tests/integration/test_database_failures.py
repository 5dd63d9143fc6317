"""Failures of a database arrive as this project's errors, and no exception of SQLAlchemy leaves `db`."""

from __future__ import annotations
