"""An episode whose commands name their parents: what an action sees is what its own path has done."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.commands import ROOT, Ask, Call, Do, Note, digest
from lumos_queue.episode import run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.records import Action, Completion, Execution, Outcome, Subgoal, Task

TASK = Task("b", "digest", "1", "Question?")
ADD = Action(("R1",), "Add", "1, 1", "R1 = Add(1, 1)")
#: As commands were named before there were trees.
ASKED = digest("ask", "policy", "prompt")
DONE = digest("do", "R1", "Add", "1, 1")


def test_a_command_outside_any_tree_is_named_as_before_and_one_in_a_tree_by_its_place():
    assert Ask("policy", "prompt").digest == ASKED
    assert Do(ADD).digest == DONE
    for make, outside in (
        (lambda at: Ask("policy", "prompt", parent=at), ASKED),
        (lambda at: Do(ADD, parent=at), DONE),
    ):
        assert len({outside, *(make(at).digest for at in (ROOT, 0, 1, 11))}) == 5


def test_an_edge_is_not_taken_for_an_image_or_a_final_question():
    assert Ask("policy", "prompt", ("1",)).digest != Ask("policy", "prompt", parent=1).digest


def test_how_many_equal_calls_came_before_does_not_name_a_call():
    assert Call("api", {"a": 1}, 0).digest == Call("api", {"a": 1}, 3).digest == Call("api", {"a": 1}).digest


def act(variable: str, name: str, parent: int) -> Do:
    return Do(Action((variable,), name, "", f"{variable} = {name}()"), parent=parent)


def branching(task, agent):
    """Two children of the root; the first has a child, and a third step goes on with the second.

    Positions: 0 Ask, 1 Do a, 2 Ask after 1, 3 Do b after 2 (fails), 4 Ask at the root, 5 Do c after 4 (sets R1 anew),
    6 two at once after 3, 7 after 5.
    """
    yield Ask("policy", "first", parent=ROOT)
    yield act("R1", "a", 0)
    yield Ask("policy", "deeper", parent=1)
    yield act("R2", "b", 2)
    yield Ask("policy", "second", parent=ROOT)
    yield act("R1", "c", 4)
    yield [act("R3", "d", 3), act("R4", "e", 3)]
    done = yield act("R5", "f", 5)
    return Outcome(done.result, "answered")


class World:
    """Performs commands, and writes down what each action could see."""

    def __init__(self):
        self.seen: dict[str, tuple] = {}

    async def __call__(self, command, context):
        if isinstance(command, Ask):
            return Completion(command.prompt, "stop")
        done = [(action.name, execution.status) for action, execution in context.done]
        variables = {name: value["text"] for name, value in context.variables.items()}
        requested = [(position, branch, action.name) for position, branch, action in context.requested]
        self.seen[command.action.name] = (done, variables, requested)
        name = command.action.name
        return Execution("failed" if name == "b" else "ok", name, ({"kind": "letter", "text": name},))


def run(journal: MemoryJournal) -> tuple[World, Outcome, list]:
    world = World()
    found = asyncio.run(run_episode(branching, TASK, None, journal, world))
    return world, found.outcome, [(action.name, done.result) for action, done in found.actions]


def test_an_action_sees_its_own_path_and_what_all_have_asked_for():
    world, outcome, actions = run(MemoryJournal())
    a, b, c, d, e, f = (1, 0, "a"), (3, 0, "b"), (5, 0, "c"), (6, 0, "d"), (6, 1, "e"), (7, 0, "f")
    assert world.seen == {
        "a": ([], {}, [a]),
        "b": ([("a", "ok")], {"R1": "a"}, [a, b]),
        "c": ([], {}, [a, b, c]),
        "d": ([("a", "ok"), ("b", "failed")], {"R1": "a"}, [a, b, c, d, e]),
        "e": ([("a", "ok"), ("b", "failed")], {"R1": "a"}, [a, b, c, d, e]),
        "f": ([("c", "ok")], {"R1": "c"}, [a, b, c, d, e, f]),
    }
    assert outcome == Outcome("f", "answered")
    assert [name for name, _ in actions] == list("abcdef"), "the run's own list has those of all branches"


@pytest.mark.parametrize("known", range(10))
def test_a_tree_that_is_resumed_after_any_step_goes_on_as_it_would_have(known):
    whole = MemoryJournal()
    world, outcome, actions = run(whole)
    journal = MemoryJournal(whole.steps[:known])
    again, same_outcome, same_actions = run(journal)
    assert (same_outcome, same_actions) == (outcome, actions)
    assert journal.steps == whole.steps
    performed = [step.command.action.name for step in whole.steps[known:] if isinstance(step.command, Do)]
    assert again.seen == {name: world.seen[name] for name in performed}


def test_without_a_tree_an_action_sees_all_that_was_done():
    seen = []

    def straight(task, agent):
        for name in ("a", "b"):
            yield Do(Action(("R1",), name, ""))
        return Outcome("x", "answered")

    async def perform(command, context):
        seen.append(([action.name for action, _ in context.done], len(context.requested)))
        return Execution("ok", "1", ({"kind": "number", "text": "1"},))

    asyncio.run(run_episode(straight, TASK, None, MemoryJournal(), perform))
    assert seen == [([], 1), (["a"], 2)]


def test_what_an_action_in_a_tree_calls_and_asks_sees_the_path_of_that_action():
    seen: dict[str, tuple] = {}

    async def perform(command, context):
        names = [action.name for action, _ in context.done]
        variables = {name: value["text"] for name, value in context.variables.items()}
        if isinstance(command, Call):
            seen[command.tool] = names, variables, len(context.requested)
            await context.ask("simulator", command.tool)
        if isinstance(command, Ask):
            seen[f"{command.role} {command.prompt}"] = names, variables, len(context.requested)
            return Completion("said", "stop")
        if isinstance(command, Do):
            await context.call(f"of {command.action.name}")
        name = command.action.name if isinstance(command, Do) else command.tool
        return Execution("ok", name, ({"kind": "letter", "text": name},))

    def formulation(task, agent):
        yield act("R1", "a", ROOT)
        yield act("R1", "b", ROOT)
        yield act("R2", "c", 0)
        return Outcome("x", "answered")

    asyncio.run(run_episode(formulation, TASK, None, MemoryJournal(), perform))
    for caller in ("of", "simulator of"):
        assert seen[f"{caller} a"] == ([], {}, 1)
        assert seen[f"{caller} b"] == ([], {}, 2), "the other branch is no part of it"
        assert seen[f"{caller} c"] == (["a"], {"R1": "a"}, 3)


@pytest.mark.parametrize("parent", [0, 1, 5, 9, -2])
@pytest.mark.parametrize("kind", [Ask, Do])
def test_a_parent_that_is_no_step_of_a_tree_is_one_clear_error(kind, parent):
    """0: an Ask without a parent, 1: a Note, 5: the step itself, 9: a later one, -2: none at all."""
    carried_out = []

    def wrong(task, agent):
        yield Ask("policy", "outside of the tree")
        yield Note(Subgoal(1, "Subgoal 1: a"))
        for at in (ROOT, 2, 3):
            yield Ask("policy", "in it", parent=at)
        yield Ask("policy", "", parent=parent) if kind is Ask else act("R1", "a", parent)
        return Outcome("x", "answered")

    async def perform(command, context):
        carried_out.append(context.position)
        return Completion("x", "stop") if isinstance(command, Ask) else None

    with pytest.raises(ValueError, match=f"step 5 names the parent {parent}, which is no step of a tree"):
        asyncio.run(run_episode(wrong, TASK, None, MemoryJournal(), perform))
    assert carried_out == [0, 1, 2, 3, 4], "it is not carried out"
