"""The rows that are written in bulk have the columns of their tables."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import UnionType
from typing import get_args, get_type_hints

import pytest

import db.engine.rows
from db.engine.rows.declaration import declaration_of, list_row_types
from db.kinds.totals import EpisodeTotals
from db.models.totals import TotalColumns

for module in pkgutil.iter_modules(db.engine.rows.__path__, "db.engine.rows."):
    import_module(module.name)
ROW_TYPES = sorted(
    (row_type for row_type in list_row_types() if row_type.__module__.startswith("db.engine.rows.")),
    key=lambda row_type: row_type.__name__,
)
#: Columns that an INSERT leaves out: they are made by the database, are empty at first, or have a default there.
LATER = {
    "episode": {"finished_at"},
    "approval": {"answered_at"},
    "item": {"id", "session", "output"},
    "task": {"id"},
    "model": {"id"},
}


def own_columns(row_type: type) -> list[str]:
    """The columns of the row's own fields, without those of groups."""
    declaration, fields = declaration_of(row_type), row_type._fields
    return [name for index, name in enumerate(fields) if index not in declaration.groups]


@pytest.mark.parametrize("row_type", ROW_TYPES, ids=lambda row_type: row_type.__name__)
def test_fields_are_columns_in_the_order_of_the_table(row_type):
    declaration = declaration_of(row_type)
    columns = [column.name for column in declaration.table.columns]
    fields = own_columns(row_type)
    assert fields == [name for name in columns if name in fields]
    assert set(declaration.columns) | set(declaration.compare) <= set(columns)
    assert not declaration.stamp or (declaration.stamp in columns and declaration.stamp not in declaration.columns)


@pytest.mark.parametrize("row_type", ROW_TYPES, ids=lambda row_type: row_type.__name__)
def test_fields_that_may_be_none_are_those_of_nullable_columns(row_type):
    table, hints = declaration_of(row_type).table, get_type_hints(row_type)
    for name in own_columns(row_type):
        may_be_none = isinstance(hints[name], UnionType) and type(None) in get_args(hints[name])
        assert table.columns[name].nullable or not may_be_none, name


@pytest.mark.parametrize(
    "row_type",
    [row_type for row_type in ROW_TYPES if row_type.__name__.startswith(("New", "Added", "Stored"))],
    ids=lambda row_type: row_type.__name__,
)
def test_a_new_row_has_all_columns_of_its_table(row_type):
    declaration = declaration_of(row_type)
    left_out = {column.name for column in declaration.table.columns} - set(declaration.columns) - {declaration.stamp}
    assert left_out == LATER.get(declaration.table.name, set())


def test_totals_have_the_columns_of_each_table_that_holds_them():
    names = tuple(TotalColumns.model_fields)
    assert names == EpisodeTotals._fields
    assert {table.__tablename__ for table in TotalColumns.__subclasses__()} == {"episode", "item_sum"}
