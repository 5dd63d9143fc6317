"""Filters by fields of the data, `meta.NAME`: both databases find what the rule says, whatever names and values are."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from db.engine.snapshot import reading
from db.models import Item, TaskRow
from db.queries.field_conditions import NUMBER
from db.queries.filters import parse_where, term
from db.queries.task_fields import has_field, list_fields
from db.queries.trajectories import find_episodes
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.submission.filters import read_where
from tests.integration.databases import sqlite_only
from tests.scored_jobs import create_scored_job

ATTACK = "'; DROP TABLE task; --"
NAMES = ("topic", "my field", 'a"b', "a.b", "$", "$.topic", "größe", ATTACK, "[0]", "0", "\\", "日本 🐨")
STORABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
HOSTILE = (
    *("", "3", "3.0", "-0", "007", "1e3", "0.1", "1e999", " 3", "3\n", "9" * 40, "0.1234567890123456", "Infinity", "٣"),
    *("true", "null", "other", "(none)", "%", "_", "a%b", "'", '"', "\\", "<b>", "\x1b[31m", "é", "e\u0301"),
)
TEXTS = st.one_of(STORABLE, st.sampled_from(HOSTILE))
LARGE = (10**299, 10**300, 10**305, -(10**299), -(10**305), 1e305, 5e-324, 2**53 + 1, 3.0)
NUMBERS = st.one_of(st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(LARGE))
VALUES = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none(), st.just([1]), st.just({"a": 1}))
OPERATORS = ("=", "!=", "~", "<", "<=", ">", ">=")


def meets(meta: dict[str, Any], name: str, operator: str, value: str) -> bool:
    """The rule, as docs/queries.md has it."""
    if operator == "!=":
        return not meets(meta, name, "=", value)
    own = meta.get(name)
    text = str(own).lower() if isinstance(own, bool) else own if isinstance(own, str) else None
    if operator == "~":
        return text is not None and value in text
    number = None
    if isinstance(own, int | float) and not isinstance(own, bool):
        number = float(own) if abs(own) < 10**300 else None
    elif operator != "=" and isinstance(own, str) and len(own) <= 30 and re.fullmatch(NUMBER.strip("^$"), own):
        number = float(own)
    try:
        wanted = float(value)
    except ValueError:
        wanted = math.nan
    if operator == "=":
        return text == value or (number is not None and abs(wanted) < 1e300 and number == wanted)
    if number is None or not abs(wanted) < 1e300:
        return False
    return {"<": number < wanted, "<=": number <= wanted, ">": number > wanted, ">=": number >= wanted}[operator]


def job_of(database, metas: list[dict[str, Any] | None]) -> str:
    """A job of a task for each of these; None: its gold value has no fields."""
    golds = [{"answer": "7"} | ({} if meta is None else {"meta": meta}) for meta in metas]
    dataset = f"data{len(metas)}"
    tasks = [Task("wordmath", dataset, str(number), "How many?", {}, gold) for number, gold in enumerate(golds)]
    return create_scored_job(database, [[1]] * len(tasks), tasks)


def rows_of(database, where: str) -> list[int]:
    with reading(database) as connection:
        return [int(row.row) for row in find_episodes(connection, parse_where(where), limit=1000)]


def set_meta(database, job: str, meta: dict[str, Any]) -> None:
    with database.writer.begin() as connection:
        own = select(Item.task).where(Item.job == job)
        connection.execute(update(TaskRow).where(TaskRow.id.in_(own)).values(gold={"answer": "7", "meta": meta}))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_name_and_any_value_are_compared_by_the_rule(database, shared_job, data):
    name = data.draw(st.one_of(st.sampled_from(NAMES), STORABLE.filter(bool)))
    meta = data.draw(st.dictionaries(st.one_of(st.just(name), st.sampled_from(NAMES)), VALUES, max_size=4))
    own = meta.get(name)
    same = st.just(str(own)) if isinstance(own, str | int | float) else st.nothing()
    operator = data.draw(st.sampled_from(OPERATORS))
    ordered = operator in ("<", "<=", ">", ">=")
    value = data.draw(NUMBERS.map(str) if ordered else st.one_of(same, TEXTS, NUMBERS.map(str)))
    try:
        wanted = term("meta", operator, value, name)
    except SpecError:
        assert ordered and not math.isfinite(float(value))
        return
    set_meta(database, shared_job, meta)
    found = rows_of(database, f"job={shared_job} {wanted}")
    assert found == ([0] if meets(meta, name, operator, value) else [])
    with reading(database) as connection:
        dataset = connection.execute(select(TaskRow.dataset)).scalars().first()
        assert set(list_fields(connection, [dataset])) == set(meta)
        assert has_field(connection, [dataset], name) == (name in meta)


@pytest.fixture
def shared_job(database) -> str:
    return job_of(database, [{}])


def test_fields_choose_episodes(database):
    algebra, sets = {"topic": "algebra", "year": 1999}, {"topic": "sets", "year": "2005"}
    job_of(database, [algebra, sets, {"topic": None}, None, {"year": 2010.0, "x y": True}])
    assert rows_of(database, "meta.topic=algebra") == [0]
    assert rows_of(database, "meta.topic!=algebra") == [1, 2, 3, 4], "a task without the field does not have the value"
    assert rows_of(database, 'meta.topic~""') == [0, 1], "any text: a field that is null has none"
    assert rows_of(database, "meta.year>=2000") == [1, 4], "numbers of CSV files are texts"
    assert rows_of(database, "meta.year=2010") == [4] and rows_of(database, "meta.year=2005") == [1]
    assert rows_of(database, 'meta."x y"=true score=1') == [4]


def test_numbers_that_a_float_does_not_hold_are_compared_alike_and_are_no_error(database):
    job_of(database, [{"n": 10**400}, {"n": 10**305}, {"n": 2**53 + 1}, {"n": 1}])
    assert rows_of(database, "meta.n>0") == [2, 3], "1e300 and more is compared with nothing"
    assert rows_of(database, f"meta.n={2**53}") == [2], "numbers are compared as floats"
    assert rows_of(database, "meta.n=1e305") == [] and rows_of(database, "meta.n!=1") == [0, 1, 2]


@pytest.mark.parametrize("gold", [None, 3, "text", [1], {"meta": None}, {"meta": [1]}, {"meta": "topic"}])
def test_a_task_of_any_gold_answer_has_no_field_and_is_no_error(database, gold):
    job = create_scored_job(database, [[1]], [Task("wordmath", "data", "0", "How many?", {}, gold)])
    assert rows_of(database, "meta.topic=algebra") == [] and rows_of(database, "meta.0!=1") == [0]
    with reading(database) as connection:
        assert list_fields(connection, ["data"]) == [] and not has_field(connection, ["data"], "0")
    assert job


@sqlite_only
def test_a_damaged_gold_answer_has_no_field(database):
    job_of(database, [{"topic": "algebra"}, {"topic": "algebra"}])
    with database.writer.begin() as connection:
        connection.exec_driver_sql("UPDATE task SET gold = '{\"meta\": {\"topic' WHERE row = '0'")
    assert rows_of(database, "meta.topic=algebra") == [1]
    with reading(database) as connection:
        assert list_fields(connection, ["data2"]) == ["topic"]


def test_an_unknown_field_is_an_error_that_lists_those_of_the_jobs_that_are_asked_for(database):
    first = job_of(database, [{"topic": "algebra", "level": 3}, {"topic": "sets", "my field": 1}])
    job_of(database, [{"colour": "red"}])
    with pytest.raises(SpecError) as error:
        read_where(database, f"job={first} meta.topik=algebra")
    listed = "Choose one of: level, my field, topic."
    assert str(error.value) == f"No field of the data called 'topik'. Did you mean 'topic'? {listed}"
    with pytest.raises(SpecError, match=f"called 'colour'. {listed}"):
        read_where(database, "meta.colour=red", job=first)
    assert read_where(database, "meta.colour=red") and read_where(database, f"job={first} meta.topic=unknown")
    assert read_where(database, "job=zzzzzzzz meta.topik=x"), "where there is no such job, there is nothing to list"


def test_an_unknown_field_with_hostile_names_is_one_short_line(database):
    job = job_of(database, [{"\x1b[31m<b>\n" + "x" * 500: 1} | {f"column {number}": number for number in range(300)}])
    with pytest.raises(SpecError) as error:
        read_where(database, "meta.topic=1", job=job)
    text = str(error.value)
    assert "\x1b" not in text and "\n" not in text and len(text) < 2500 and "and 261 more" in text


def test_jobs_without_fields_say_so(database):
    job = job_of(database, [None])
    with pytest.raises(SpecError, match="have no fields"):
        read_where(database, "meta.topic=1", job=job)
