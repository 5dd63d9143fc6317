"""The columns of EpisodeTotals, and how a query selects them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func
from sqlmodel import Field

from db.kinds.totals import EpisodeTotals
from db.models.base import Base, Key, Mapped


class TotalColumns(Base):
    """The columns of EpisodeTotals, in the tables of episodes and of sums over items."""

    calls: Mapped[int] = Field(default=0, sa_type=Key)
    prompt_tokens: Mapped[int] = Field(default=0, sa_type=Key)
    completion_tokens: Mapped[int] = Field(default=0, sa_type=Key)


def total_columns(table: type[TotalColumns]) -> list[ColumnElement[int]]:
    """Return the columns of EpisodeTotals in a table or an alias of it."""
    return [getattr(table, name) for name in EpisodeTotals._fields]


def sum_columns(table: type[TotalColumns]) -> list[ColumnElement[int]]:
    """Return the sums over the columns of EpisodeTotals, 0 without rows."""
    return [func.coalesce(func.sum(column), 0).label(column.key) for column in total_columns(table)]


def read_totals(row: object) -> EpisodeTotals:
    """Return the totals in a row with their columns. PostgreSQL's sums are decimals, which become integers."""
    return EpisodeTotals(*(int(getattr(row, name)) for name in EpisodeTotals._fields))
