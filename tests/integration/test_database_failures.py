"""Failures of a database arrive as this project's errors, and no exception of SQLAlchemy leaves `db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from db.engine.bulk import copy_rows
from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.engine.rows.steps import StepRow
from db.models import Dataset
from lumos_queue.errors import (
    ConstraintViolated,
    DatabaseFailure,
    DatabaseUnavailable,
    InfrastructureError,
    PoolTimeout,
    RowsRefused,
)
from lumos_queue.settings import Settings
from tests.services import start_postgres
