"""What an episode may use up: counted as commands pass, recorded ones as well as new ones."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.commands import Ask, Do
from lumos_queue.episode import run_episode
from lumos_queue.errors import SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.limits import MAX_STEPS, LimitReached, Limits, limit_formulation
from lumos_queue.records import Action, Completion, Execution, Outcome, Task

TASK = Task("b", "digest", "1", "Question?")
LOOK = Action(("R1",), "Look", "")


def turns(task, agent):
    """Three turns of a model and an action, which answers with how many there were."""
    for number in range(3):
        yield Ask("policy", f"turn {number}")
        yield Do(LOOK)
    return Outcome("3", "answered")


def at_once(task, agent):
    """One model call, two at once, two actions at once."""
    yield Ask("policy", "first")
    yield [Ask("policy", "a"), Ask("policy", "b")]
    yield [Do(LOOK), Do(LOOK)]
    return Outcome("all", "answered")


def cautious(task, agent):
    """As `turns`, but answers with what it has."""
    number = 0
    try:
        for number in range(3):
            yield Ask("policy", f"turn {number}")
    except LimitReached as reached:
        return Outcome(f"{number}: {reached}", "answered")
    return Outcome("3", "answered")


def run(formulation, limits: Limits, journal: MemoryJournal | None = None) -> tuple[Outcome, MemoryJournal]:
    journal = journal or MemoryJournal()

    async def perform(command, context):
        if isinstance(command, Ask):
            return Completion("reply", "stop", 8, 2)
        return Execution("ok", "seen", ({"kind": "page", "text": "seen"},))

    run = asyncio.run(run_episode(limit_formulation(formulation, limits), TASK, None, journal, perform))
    return run.outcome, journal


@pytest.mark.parametrize(
    ("limits", "steps", "message"),
    [
        (Limits(calls=3), 6, ""),
        (Limits(calls=2), 4, "the limit of 2 model calls is reached"),
        (Limits(calls=1), 2, "the limit of 1 model calls is reached"),
        (Limits(tokens=30), 6, ""),
        (Limits(tokens=21), 6, ""),  # a call may begin below the limit; what it takes is known afterwards
        (Limits(tokens=20), 4, "the limit of 20 tokens is reached"),
        (Limits(tokens=1), 2, "the limit of 1 tokens is reached"),
        (Limits(actions=3), 6, ""),
        (Limits(actions=2), 5, "the limit of 2 actions is reached"),
        (Limits(steps=1, depth=1), 6, ""),  # the formulation's own measures
    ],
)
def test_an_episode_ends_at_the_command_beyond_its_limit(limits, steps, message):
    outcome, journal = run(turns, limits)
    assert outcome == (Outcome(None, "limit", message) if message else Outcome("3", "answered"))
    assert len(journal.steps) == steps


@pytest.mark.parametrize("limits", [Limits(calls=2), Limits(tokens=20), Limits(actions=2)])
def test_an_episode_that_is_resumed_ends_where_it_would_have_ended(limits):
    outcome, whole = run(turns, limits)
    for known in range(len(whole.steps) + 1):
        again, journal = run(turns, limits, MemoryJournal(whole.steps[:known]))
        assert again == outcome
        assert journal.steps == whole.steps


@pytest.mark.parametrize(
    ("limits", "steps"), [(Limits(calls=2), 1), (Limits(calls=3), 5), (Limits(actions=1), 3), (Limits(actions=2), 5)]
)
def test_a_list_is_carried_out_as_a_whole_or_not_at_all(limits, steps):
    outcome, journal = run(at_once, limits)
    assert len(journal.steps) == steps
    assert outcome.ending == ("answered" if steps == 5 else "limit")


def test_what_a_list_uses_is_all_counted():
    assert len(run(at_once, Limits(tokens=30))[1].steps) == 5, "only model calls are held back by tokens"

    def asks_on(task, agent):
        yield [Ask("policy", "a"), Ask("policy", "b")]
        yield Ask("policy", "c")
        return Outcome("x", "answered")

    assert run(asks_on, Limits(tokens=20))[0].message == "the limit of 20 tokens is reached"
    assert run(asks_on, Limits(tokens=21))[0].answer == "x"
    assert run(asks_on, Limits(calls=2))[0].message == "the limit of 2 model calls is reached"
    assert run(asks_on, Limits(calls=3))[0].answer == "x"


def test_a_formulation_may_answer_with_what_it_has():
    outcome, journal = run(cautious, Limits(calls=2))
    assert outcome == Outcome("2: the limit of 2 model calls is reached", "answered")
    again, _ = run(cautious, Limits(calls=2), MemoryJournal(journal.steps[:1]))
    assert again == outcome


def test_what_a_formulation_wants_after_the_limit_is_held_back_as_well():
    def stubborn(task, agent):
        yield Ask("policy", "a")
        try:
            yield Ask("policy", "b")
        except LimitReached:
            yield Do(LOOK)  # an action is no model call
            yield Ask("policy", "c")

    outcome, journal = run(stubborn, Limits(calls=1))
    assert (outcome.ending, len(journal.steps)) == ("limit", 2)


def test_steps_and_depth_are_told_to_who_asks():
    assert Limits().allows_step(MAX_STEPS) and not Limits().allows_step(MAX_STEPS + 1)
    assert not Limits().is_deep(10**6, 10**6)
    assert [Limits(steps=2).allows_step(number) for number in (1, 2, 3)] == [True, True, False]
    assert [Limits(depth=6).is_deep(nodes, 2) for nodes in (5, 6, 7)] == [False, True, True]
    assert [Limits(depth=2, unit="calls").is_deep(99, calls) for calls in (1, 2)] == [False, True]


def test_limits_are_stored_as_what_was_asked_for():
    assert Limits().as_json() == {}
    some = Limits(calls=5, depth=3, unit="calls")
    assert some.as_json() == {"calls": 5, "depth": 3, "unit": "calls"}
    assert Limits.from_json(some.as_json()) == some


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tokens": -1}, "The limit 'tokens' must not be negative"),
        ({"unit": "hops"}, "one of nodes, calls, not 'hops'"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(value, message):
    with pytest.raises(SpecError, match=message):
        Limits(**value)
