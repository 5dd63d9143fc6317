"""Closed sets: the members' values are what was always stored, and a member is its value wherever it is written."""

from __future__ import annotations

import json

import pytest

from lumos_queue.commands import Ask, digest
from lumos_queue.records import LEVELS, Completion, Ending, FinishReason, Level, Outcome

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
}


@pytest.mark.parametrize("closed", STORED, ids=lambda closed: closed.__name__)
def test_the_values_are_the_stored_ones(closed):
    assert tuple(closed) == STORED[closed]
    for member, value in zip(closed, STORED[closed], strict=True):
        assert member == value and hash(member) == hash(value)
        assert type(str(member)) is str and f"{member}" == "%s" % member == value  # noqa: UP031
        assert json.dumps([member]) == json.dumps([value])
        assert digest(member) == digest(value)


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
