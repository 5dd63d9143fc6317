"""What a journal writes is what comes back, wherever in a list of commands a step stood. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select

from db.engine.bulk import RowsDiffer
from db.engine.rows.steps import NewAttempt
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.journal.tool_calls import find_recorded_call
from db.models import CompletionRow
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.fence import end_session
from lumos_queue.commands import KEPT_DIGITS, ROOT, WITHIN, Ask, Call, Do, Note, Step
from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import Signature
from lumos_queue.records import Action, Candidate, Completion, Execution, Subgoal
from tests.claims import claim, holder, new_job

HEADS = {"planner": "<|user|>\nPlan.\n"}


def ask(position: int, branch: int, prompt: str, role: str = "planner") -> Step:
    return Step(position, branch, Ask(role, HEADS["planner"] + prompt), Completion(f"reply to {prompt}", "stop"))


class Stored:
    """An item's journal, written and read again by one holder after the other."""

    def __init__(self, database):
        self.database, self.job = database, new_job(database, tasks=1)
        self.take()

    def take(self) -> EpisodeJournal:
        """The next holder's journal, with everything recorded so far recalled."""
        self.who = holder(self.database, self.job)
        (self.item,) = claim(self.database, self.who)
        self.buffer = Buffer()
        self.journal = EpisodeJournal(self.item.id, 1, self.buffer, HEADS)
        for step in self.item.steps:
            self.journal.recall(step)
        return self.journal

    def give(self) -> None:
        commit(self.database, self.who, Batch({self.item.id: self.item.claim}, *self.buffer.take()))
        end_session(self.database, self.who.session)


def check(stored: Stored, steps: list[Step]) -> None:
    """Every step comes back at its place, with its prompt, whoever reads it."""
    journal = stored.take()
    for step in steps:
        assert journal.find(step.position, step.branch) == (step.command.digest[:KEPT_DIGITS], step.result)
    found = {(one.position, one.branch): one for one in stored.item.steps}
    assert list(found) == sorted((step.position, step.branch) for step in steps)
    for step in steps:
        if isinstance(step.command, Ask):
            assert found[step.position, step.branch].prompt == step.command.prompt, "the prompt as it was sent"
        if isinstance(step.command, Ask | Do):
            assert found[step.position, step.branch].parent == step.command.parent


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_prompts_asked_beside_one_another_come_back_and_none_is_taken_for_another(database, order):
    """Each prompt of the list goes on where another ends, and so does the next one after the list."""
    together = [ask(0, 0, "Task"), ask(0, 1, "Task, and more"), ask(0, 2, "Task, and more, and more still")]
    after = ask(1, 0, "Task, and more, and more still. Stop?")
    stored = Stored(database)
    for place in order:
        stored.journal.record(together[place])
    stored.journal.record(after)
    stored.give()
    check(stored, [*together, after])


def test_who_goes_on_with_a_journal_builds_on_the_same_prompts_as_who_began_it(database):
    together = [ask(0, 0, "Task"), ask(0, 1, "Task, and more")]
    after, last = ask(1, 0, "Task, and more. Stop?"), ask(2, 0, "Task, and more. Stop? Yes.")
    stored = Stored(database)
    for step in together:
        stored.journal.record(step)
    stored.give()
    stored.take().record(after)
    stored.give()
    stored.take().record(last)
    stored.give()
    check(stored, [*together, after, last])


def test_what_an_action_asks_on_its_way_is_no_turn_of_a_conversation(database):
    """A tool may play the planner's role: what it is asked stands between two turns of the planner."""
    action = Do(Action(("R1",), "Look", "page", "R1 = Look(page)"))
    done = Execution("ok", "seen", ({"kind": "page", "text": "seen"},))
    steps = [
        ask(0, 0, "Task"),
        Step(1, 0, Note(Subgoal(1, "Subgoal 1: look.")), None),
        ask(2, WITHIN, "Task, on the way"),
        Step(2, WITHIN + 1, Call("web", {"page": "p"}), Execution("ok", "the page")),
        Step(2, 0, action, done),
        ask(3, 0, "Task, on the way and back"),
    ]
    stored = Stored(database)
    for step in steps:
        stored.journal.record(step)
    stored.give()
    check(stored, steps)


def test_steps_come_back_in_the_order_of_their_places_whatever_they_are(database):
    kinds = [
        Step(0, 0, Note(Subgoal(1, "Subgoal 1: add.")), None),
        ask(1, 0, "Task"),
        Step(2, 0, Do(Action(("R1",), "Add", "1, 1")), Execution("ok", "2", ({"kind": "number", "text": "2"},))),
        Step(3, 0, Note(Subgoal(2, "Subgoal 2: stop.")), None),
        Step(4, 0, Call("web", {}), Execution("refused", message="no")),
        ask(5, 0, "Task, again"),
    ]
    stored = Stored(database)
    for step in reversed(kinds):
        stored.journal.record(step)
    stored.give()
    check(stored, kinds)


def test_the_steps_of_an_attempt_given_up_are_not_those_of_the_next(database):
    """Code has changed: the same places are recorded anew, with other commands."""
    stored = Stored(database)
    stored.journal.record(ask(0, 0, "as it was"))
    stored.journal.record(ask(1, 0, "as it was, and on"))
    again = EpisodeJournal(stored.item.id, 2, stored.buffer, HEADS)
    again.record(ask(0, 0, "as it is"))
    stored.buffer.add(NewAttempt(stored.item.id, 2, "2"))
    stored.give()
    stored.take()
    assert stored.item.attempt == 2
    assert [one.prompt for one in stored.item.steps] == [HEADS["planner"] + "as it is"]


def test_candidates_come_back_with_their_log_probabilities_to_the_last_bit(database):
    best = (Candidate("Image Denoising,", -0.1), Candidate("Colorization,", -1 / 3), Candidate("", -1e-300))
    constraint = PlanConstraint(Signature((Slot("image", Kind.IMAGE),), Kind.IMAGE))
    held = Ask("planner", HEADS["planner"] + "Task", constraint=constraint, n=3)
    steps = [
        Step(0, 0, held, Completion(best[1].text, "stop", candidates=best)),
        Step(1, 0, Ask("planner", held.prompt), Completion("Colorization,", "stop")),
    ]
    assert steps[0].command.digest != steps[1].command.digest
    stored = Stored(database)
    for step in steps:
        stored.journal.record(step)
    stored.give()
    check(stored, steps)


@pytest.mark.parametrize("values", [({"kind": "page", "text": "seen", "html": "<p>" * 3000},), ({"text": "seen"},)])
def test_values_come_back_whole_however_short_the_result_is(database, values):
    step = Step(0, 0, Do(Action(("R1",), "Look", "page")), Execution("ok", "seen", values))
    stored = Stored(database)
    stored.journal.record(step)
    stored.give()
    check(stored, [step])


@pytest.mark.parametrize("handed_over", [(), (1, 2, 3, 4, 5, 6)])
def test_a_tree_comes_back_with_its_edges_and_its_prompts_whoever_goes_on_with_it(database, handed_over):
    """Each prompt but the first goes on where an earlier one of its path, or of an elder sibling, ended."""

    def node(position: int, parent: int, prompt: str) -> Step:
        return Step(
            position, 0, Ask("policy", prompt, parent=parent), Completion(f"reply to {len(prompt)} characters", "stop")
        )

    first = "Task. " + "A long description of many tools. " * 200  # kept beside its row
    look = Do(Action((), "look", "{}", "look"), parent=0)
    steps = [
        node(0, ROOT, first),
        Step(1, 0, look, Execution("ok", "seen", ({"kind": "observation", "text": "seen"},))),
        node(2, 1, f"{first}look: seen."),
        node(3, 1, f"{first}look: seen. Not as before."),
        node(4, 2, f"{first}look: seen. Done."),
        node(5, ROOT, f"{first}Otherwise."),
        node(6, 5, f"{first}Otherwise. Done."),
    ]
    stored = Stored(database)
    for step in steps:
        if step.position in handed_over:
            stored.give()
            stored.take()
        stored.journal.record(step)
    stored.give()
    check(stored, steps)
    with database.engine.connect() as connection:
        rows = connection.execute(
            select(CompletionRow.position, CompletionRow.base).order_by(CompletionRow.position)
        ).all()
    assert [tuple(row) for row in rows] == [(0, None), (2, 0), (3, 2), (4, 2), (5, 0), (6, 5)]


def test_where_the_answer_of_a_tool_is_from_comes_back(database):
    steps = [
        Step(0, 0, Do(Action(("R1",), "Look", "page")), Execution("ok", "seen")),
        *(
            Step(0, WITHIN + k, Call("api", {"q": 1}, k), Execution("ok", "seen", provenance=provenance))
            for k, provenance in enumerate(("recorded", "simulated", "synthetic", "live", ""))
        ),
    ]
    stored = Stored(database)
    for step in steps:
        stored.journal.record(step)
    stored.give()
    check(stored, steps)


@pytest.mark.parametrize("long", [False, True])
def test_a_job_that_is_replayed_gives_the_answers_of_its_earliest_episode_in_their_order(database, long):
    """An episode that made fewer calls gives its last; another episode, and calls that were not made, give none."""
    job, api = new_job(database, tasks=3), {"q": 1}
    tail = " and much more" * 300 * long
    told = {0: [], 1: ["first", "", "second"], 2: ["of another", "of another", "third"]}
    who = holder(database, job)
    for place, item in enumerate(sorted(claim(database, who, 3), key=lambda one: one.ordinal)):
        buffer = Buffer()
        journal = EpisodeJournal(item.id, 1, buffer, HEADS)
        for k, text in reversed(list(enumerate(told[place]))):
            done = Execution("ok", text + tail, provenance="live") if text else Execution("not_recorded")
            journal.record(Step(k, WITHIN, Call("api", api, k), done))
        journal.record(Step(9, WITHIN, Call("api", {"q": 2}), Execution("ok", "of another call")))
        commit(database, who, Batch({item.id: item.claim}, *buffer.take()))
    command = Call("api", api).digest
    with database.engine.connect() as connection:
        found = [find_recorded_call(connection, job, command, ("not_recorded",), nth) for nth in range(4)]
        assert find_recorded_call(connection, job, Call("api", {"q": 3}).digest, (), 2) is None
    assert [one and one.result for one in found] == [text + tail for text in ("first", "second", "second", "second")]
    assert {one and one.provenance for one in found} == {"live"}


def test_a_journal_has_no_room_while_its_buffer_is_full():
    async def body() -> None:
        buffer = Buffer(most=1)
        journal = EpisodeJournal(1, 1, buffer, HEADS)
        await asyncio.wait_for(journal.wait_for_capacity(), 1)
        journal.record(ask(0, 0, "Task"))
        waiting = asyncio.create_task(journal.wait_for_capacity())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        buffer.take()
        await asyncio.wait_for(waiting, 1)

    asyncio.run(body())


DO = Do(Action(("R1",), "Add", "1, 1", "R1 = Add(1, 1)"))
CALL = Call("web", {"page": "p"})
LONG_RESULT = "seen " * 1000  # kept beside its row, whose own result is then empty


@pytest.mark.parametrize(
    ("command", "first", "second"),
    [
        (DO, Execution("ok", "2"), Execution("ok", "3")),
        (DO, Execution("ok", ""), Execution("undefined", "")),
        (DO, Execution("ok", ""), Execution("ok", LONG_RESULT)),
        (DO, Execution("ok", LONG_RESULT), Execution("ok", "")),
        (CALL, Execution("ok", "a page"), Execution("ok", "another page")),
        (CALL, Execution("ok", ""), Execution("live_refused", "")),
        (CALL, Execution("ok", ""), Execution("ok", LONG_RESULT)),
        (ask(0, 0, "Task").command, Completion("a", "stop"), Completion("b", "stop")),
    ],
)
def test_a_step_that_arrives_again_with_another_result_is_refused(database, command, first, second):
    stored = Stored(database)
    for result in (first, first, second):
        journal = EpisodeJournal(stored.item.id, 1, stored.buffer, HEADS)
        journal.record(Step(0, 0, command, result))
        batch = Batch({stored.item.id: stored.item.claim}, *stored.buffer.take())
        if result == first:
            commit(database, stored.who, batch)
            continue
        with pytest.raises(RowsDiffer):
            commit(database, stored.who, batch)
