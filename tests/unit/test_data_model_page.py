"""docs/data_model.md has every table with its columns, and no other; its queries run."""

from __future__ import annotations

import re

from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.kinds.states import ItemState, JobState
from db.models import Base
from lumos_queue.records import Ending, FinishReason, Level
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "data_model.md").read_text(encoding="utf-8")


def test_every_table_and_column_is_on_the_page():
    told = {}
    for name, section in re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL):
        cells = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
        told[name] = sorted(column for cell in cells for column in re.findall(r"`(\w+)`", cell))
    stored = {table.name: sorted(column.name for column in table.columns) for table in Base.metadata.tables.values()}
    assert len(stored) > 30
    assert told == stored


def test_the_picture_has_every_table():
    picture = PAGE.partition("```\n")[2].partition("```")[0]
    drawn = set(re.findall(r"\w+", picture)) | {"episode_artifact", "dataset_artifact", "refused_message"}
    assert drawn >= set(Base.metadata.tables), "the last three hang on nothing that the picture is about"


def test_every_state_and_ending_is_on_the_page():
    stored = {*JobState} - {JobState.REMOVED} | {*ItemState, *Ending, *Level, *FinishReason}
    assert {one.value for one in stored} <= set(re.findall(r"`(\w+)`", PAGE))


def test_the_queries_run(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    try:
        upgrade(database)
        queries = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) + re.findall(r"`(SELECT [^`]+)`", PAGE)
        statements = [one for query in queries for one in query.split(";") if one.strip()]
        assert len(statements) == 3
        with database.engine.connect() as connection:
            for one in statements:
                connection.execute(text(one)).all()
    finally:
        database.close()
