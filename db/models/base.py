"""The common parts of all tables: one metadata, the names of constraints, and kinds of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Text,
    text,
)
from sqlalchemy.types import JSON
from sqlmodel import Field, SQLModel

#: SQLite increments only INTEGER PRIMARY KEY by itself; PostgreSQL needs 64 bits.
Key = BigInteger().with_variant(Integer(), "sqlite")

#: Names for constraints, so that both databases and every migration agree on them.
NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_index",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.orm import Mapped as Mapped
else:

    class Mapped:
        """`Mapped[int]` is a column to a type checker, as it is when queries are built; SQLModel wants plain `int`."""

        def __class_getitem__(cls, kind: type) -> type:
            return kind


class Base(SQLModel):
    """The base class of all tables. Alembic compares the database with its metadata."""

    metadata = MetaData(naming_convention=NAMES)
    if TYPE_CHECKING:  # SQLModel makes these and does not declare them
        __tablename__: ClassVar[Any]  # SQLModel: str or a descriptor of str
        __table__: ClassVar[Table]


def partial_index(name: str, *columns: str, where: str) -> Index:
    """Return an index of the rows for which the SQL condition `where` holds."""
    return Index(name, *columns, sqlite_where=text(where), info={"where": where})


def add_conditions(metadata: MetaData) -> None:
    """Add the conditions of partial indexes for PostgreSQL.

    Only migrations call this: it imports PostgreSQL's dialect with all its drivers, which takes time.
    """
    for table in metadata.tables.values():
        for index in table.indexes:
            if where := index.info.get("where"):
                index.dialect_kwargs["postgresql_where"] = text(where)


def key() -> Mapped[int]:
    return Field(default=None, sa_column=Column(Key, primary_key=True, autoincrement=True))


def refers(
    target: str, *, primary_key: bool = False, index: bool | None = None, autoincrement: bool | Literal["auto"] = "auto"
) -> Mapped[int]:
    """Return a column with the key of another table's row. Deleting that row also deletes the rows that refer to it."""
    reference = ForeignKey(target, ondelete="CASCADE")
    return Field(
        sa_column=Column(
            Key, reference, primary_key=primary_key, nullable=False, index=index, autoincrement=autoincrement
        )
    )


@overload
def long_text(nullable: Literal[False] = False) -> Mapped[str]: ...
@overload
def long_text(nullable: Literal[True]) -> Mapped[str | None]: ...
def long_text(nullable: bool = False) -> Mapped[str] | Mapped[str | None]:
    return Field(default=None if nullable else "", sa_column=Column(Text, nullable=nullable))


def json(nullable: bool = False) -> Any:
    return Field(default=None, sa_column=Column(JSON, nullable=nullable))


@overload
def instant(nullable: Literal[True] = True) -> Mapped[float | None]: ...
@overload
def instant(nullable: Literal[False]) -> Mapped[float]: ...
def instant(nullable: bool = True) -> Mapped[float] | Mapped[float | None]:
    return Field(default=None, sa_column=Column(Float, nullable=nullable))
