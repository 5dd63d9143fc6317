"""States are stored as their members' values, byte for byte, on both databases."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from sqlalchemy import Enum, insert, literal, select, text, update

from db.engine.bulk import update_rows
from db.engine.rows.declaration import writes_to
from db.kinds.states import ItemState, JobState
from db.models import Base, Item, JobRow
from tests.claims import new_job

MEMBERS = [(JobRow, state) for state in JobState] + [(Item, state) for state in ItemState]


class StateChange(NamedTuple):
    """A new state of a job or an item."""

    id: int | str
    state: str


def stored(connection, table) -> set[str]:
    """The bytes of the column, in hexadecimal, as the database itself says."""
    shown = "hex(state)" if connection.dialect.name == "sqlite" else "upper(encode(convert_to(state, 'UTF8'), 'hex'))"
    return set(connection.execute(text(f"SELECT {shown} FROM {table.__tablename__}")).scalars())


@pytest.mark.parametrize(("table", "state"), MEMBERS, ids=str)
def test_a_member_is_stored_and_found_by_its_value_however_it_is_bound(database, table, state):
    new_job(database, tasks=1)
    value = state.value.encode().hex().upper()
    other = b"other".hex().upper()
    with database.writer.begin() as connection:
        for change in (
            update(table).values(state=state),
            update(table).values(state=literal(state, table.__table__.c.state.type)),
        ):
            connection.execute(update(table).values(state="other"))
            assert stored(connection, table) == {other}
            connection.execute(change)
            assert stored(connection, table) == {value}
            key = connection.execute(select(table.id).where(table.state == state)).scalar_one()
            assert connection.execute(select(table.id).where(table.state.in_((state,)))).scalar_one() == key
        connection.execute(update(table).values(state="other"))
        row_type = writes_to(table)(StateChange)
        update_rows(connection, row_type, [row_type(key, state)], "s.state = 'other'")
        assert stored(connection, table) == {value}
        read = connection.execute(select(table.state)).scalar_one()
        assert type(read) is str and read == state
        connection.execute(text(f"UPDATE {table.__tablename__} SET state = :state"), {"state": state})
        assert stored(connection, table) == {value}


def test_a_row_that_is_inserted_with_a_member_holds_its_value(database):
    job = new_job(database, tasks=1)
    with database.writer.begin() as connection:
        row = dict(connection.execute(select(Item.__table__)).one()._mapping) | {"state": ItemState.QUARANTINED}
        connection.execute(insert(Item), [row | {"id": row["id"] + 1, "ordinal": 1}])
        states = connection.execute(select(Item.state).where(Item.job == job).order_by(Item.ordinal)).scalars().all()
    assert states == ["owed", "quarantined"] and {type(state) for state in states} == {str}


def test_no_column_is_an_enum_of_the_database():
    """SQLModel would make one of a field annotated with an enum, and store the members' names."""
    kinds = {
        f"{table.name}.{column.name}": column.type
        for table in Base.metadata.tables.values()
        for column in table.columns
    }
    assert [name for name, kind in kinds.items() if isinstance(kind, Enum)] == []
