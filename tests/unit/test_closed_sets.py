"""Closed sets: the members' values are what was always stored, and a member is its value wherever it is written."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import orjson
import pytest
from psycopg.adapt import PyFormat, Transformer

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.commands import Ask, digest
from lumos_queue.records import LEVELS, Completion, Ending, FinishReason, Level, Origin, Outcome, Role

STORED = {
    Ending: (
        "answered",
        "no_answer",
        "limit",
        "gave_up",
        "action_error",
        "unreadable",
        "infeasible",
        "cancelled",
        "infra_error",
    ),
    FinishReason: ("stop", "length", "empty", "refused", "given"),
    Level: ("format", "oracle_tool", "executed", "perturbed"),
    JobKind: ("evaluate", "infer", "convert", "train", "correct", "import"),
    Pool: ("cpu", "llm", "gpu"),
    Origin: ("run", "converted", "derived", "imported", "corrected"),
    Role: (
        *("planner", "grounder", "solver", "policy", "router", "state_manager", "captioner", "teacher", "judge"),
        *("parser", "simulator", "qa", "vqa"),
    ),
}


@pytest.mark.parametrize("closed", STORED, ids=lambda closed: closed.__name__)
def test_the_values_are_the_stored_ones(closed):
    assert tuple(closed) == STORED[closed]
    for member, value in zip(closed, STORED[closed], strict=True):
        assert member == value and hash(member) == hash(value)
        assert type(str(member)) is str and f"{member}" == "%s" % member == value  # noqa: UP031
        assert json.dumps([member]) == json.dumps([value])
        assert digest(member) == digest(value)


def test_members_are_sent_and_stored_as_their_text():
    """Without the real drivers this would not show: they look at the type of a value before they write it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for closed, values in STORED.items():
            rows = [connection.execute("SELECT ?, typeof(?)", (member, member)).fetchone() for member in closed]
            assert rows == [(value, "text") for value in values] and {type(row[0]) for row in rows} == {str}
            assert orjson.dumps([*closed]) == orjson.dumps([*values])
            assert json.dumps(dict.fromkeys(closed, 1)) == json.dumps(dict.fromkeys(values, 1))
            dumped = [Transformer().get_dumper(member, PyFormat.AUTO).dump(member) for member in closed]
            assert [*map(bytes, filter(None, dumped))] == [value.encode() for value in values]


@pytest.mark.parametrize("closed", [JobKind, Pool, Origin, Role], ids=lambda closed: closed.__name__)
def test_documents_with_members_print_as_before(closed):
    assert repr({member: [member] for member in closed}) == repr({value: [value] for value in STORED[closed]})


def test_levels_are_ordered_from_the_weakest():
    assert LEVELS.index("executed") < LEVELS.index(Level.PERTURBED) and "none" not in LEVELS


def test_values_with_members_equal_values_with_text():
    assert Outcome("1", Ending.LIMIT) == Outcome("1", "limit")
    assert Completion("x", FinishReason.STOP) == Completion("x", "stop")


def test_a_command_gives_its_result_and_is_yielded_once():
    ask = Ask("planner", "prompt")
    running = iter(ask)
    assert next(running) is ask
    with pytest.raises(StopIteration) as stop:
        running.send(Completion("reply", FinishReason.STOP))
    assert stop.value.value == Completion("reply", FinishReason.STOP)
