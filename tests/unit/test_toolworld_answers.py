"""What the generated APIs of ToolWorld answer, through the real session: faults, look-alikes, traps; and replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from experiments.toolworld.memory_run import NAMES, run_once
from experiments.toolworld.policies import Policies
from lumos_queue.actions.tools.world import LOOKALIKES
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Call, Do
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.limits import Limits
from lumos_queue.records import Ending, Execution, Task
from tests.kills.world import find_world_search
from tests.tool_scripts import call, finish, give_up

BENCHMARK = open_benchmark("toolworld")
ANY = Limits(calls=60)


class Replies:
    """A policy's replies in their order, whatever it is shown."""

    def __init__(self, *replies: str):
        self._replies: Iterator[str] = iter(replies)

    def of(self, role: str):
        return lambda prompt: "{}" if role == "state_manager" else next(self._replies)


def one_task(**faults: Any) -> Task:
    """A task with one part of two links. `faults`: what is added to the first API of the first link."""
    task = next(BENCHMARK.read(None, "I2-inst", parts="1", links="2", unsolvable="0", lookalikes="3"))
    assert isinstance(task, Task)
    world = json.loads(json.dumps(task.inputs["world"]))
    world["parts"][0][0]["apis"][0].update(faults)
    return replace(task, inputs={**task.inputs, "world": world})


def link(task: Task, place: int = 0) -> dict[str, Any]:
    return task.inputs["world"]["parts"][0][place]


def name(task: Task, number: int = 0, place: int = 0) -> str:
    """Of the function of a link's API of that number."""
    api = link(task, place)["apis"][number]
    return f"{api['api']}_for_{api['tool'].lower().replace(' ', '_')}"


def ask(task: Task, number: int = 0, argument: str = "", parameter: str = "", place: int = 0) -> str:
    """The reply that calls an API, by default about the link's own argument."""
    of = link(task, place)
    return call(name(task, number, place), **{parameter or f"{of['of']}_id": argument or of["argument"]})


def played(task: Task, *replies: str, formulation: str = "react") -> list[Execution]:
    run, _ = run_once(task, formulation, Replies(*replies, finish("1: unknown")), ANY)
    return [done for _, done in run.actions][:-1]


def response(done: Execution) -> Any:
    return json.loads(done.result)["response"]


def test_an_api_tells_the_value_of_its_link_and_look_alikes_do_not():
    task = one_task()
    first = link(task)
    told = played(task, *(ask(task, number) for number in range(5)))
    assert [one.status for one in told] == ["ok"] * 5 and {one.provenance for one in told} == {"synthetic"}
    right = {first["of"]: first["argument"], first["gives"]: first["value"]}
    assert [response(one) for one in told[:2]] == [right, right]
    assert [one["kind"] for one in first["apis"][2:]] == list(LOOKALIKES)
    assert response(told[2]) == {first["of"]: first["argument"], f"former_{first['gives']}": first["former"]}
    assert not any(first["value"] in one.result for one in told[2:])


def test_what_one_call_returns_is_the_argument_of_the_next():
    task = one_task()
    found = response(played(task, ask(task))[0])[link(task)["gives"]]
    assert (
        response(played(task, ask(task, argument=found, place=1))[0])[link(task, 1)["gives"]]
        == (task.gold["parts"][0]["answer"])
    )


def test_an_id_that_an_api_does_not_know_is_an_error_that_says_so():
    told = played(one_task(), ask(one_task(), argument="XX-00000"))[0]
    assert told.status == "tool_error" and f"no {link(one_task())['of']} with the id 'XX-00000' is known" in told.result


def test_each_fault_shows_as_it_does_outside():
    of = link(one_task())
    gone, empty, other = (
        played(one_task(fault=kind), *[ask(one_task())] * 2) for kind in ("gone", "empty", "other_entity")
    )
    assert [one.status for one in gone] == ["not_found"] * 2
    assert [one.status for one in empty] == ["ok"] * 2 and response(empty[0]) == {"results": [], "total": 0}
    assert [one.status for one in other] == ["ok"] * 2
    assert response(other[0]) == dict(zip((of["of"], of["gives"]), of["other"], strict=True))


def test_a_rate_limit_refuses_the_first_equal_request_of_an_episode():
    task = one_task(fault="rate_limited")
    told = played(task, ask(task, argument="XX-00000"), *[ask(task)] * 3)
    assert [one.status for one in told] == ["rate_limited", "rate_limited", "ok", "ok"]


def test_a_rate_limit_is_counted_over_all_branches_of_a_search():
    task = one_task(fault="rate_limited")
    run, _ = run_once(task, "dfsdt", Replies(ask(task, 1), ask(task), give_up(), ask(task), finish("1: 2")), ANY)
    assert [done.status for _, done in run.actions] == ["ok", "rate_limited", "give_up", "ok", "ok"]


def test_a_misspelt_parameter_is_refused_and_the_error_tells_the_right_one():
    task = next(
        one
        for one in BENCHMARK.read(None, "I2-inst", parts="1", links="2", unsolvable="0", faults="1")
        if isinstance(one, Task) and any(api.get("fault") == "misspelt" for api in link(one)["apis"])
    )
    number = next(place for place, api in enumerate(link(task)["apis"]) if api.get("fault") == "misspelt")
    wrong = next(
        one["required_parameters"][0]["name"]
        for one in task.inputs["functions"]
        if one["api_name"] == link(task)["apis"][number]["api"]
    )
    right = link(task)["apis"][number]["parameter"]
    told = played(task, ask(task, number, parameter=wrong), ask(task, number, parameter=right))
    assert [one.status for one in told] == ["invalid_arguments", "ok"]
    assert f"has no argument '{wrong}'; its arguments: '{right}'" in told[0].result
    assert response(told[1])[link(task)["gives"]] == link(task)["value"]


def trap() -> Task:
    """Its first look-alike locks the part."""
    task = one_task()
    world = json.loads(json.dumps(task.inputs["world"]))
    world["parts"][0][0]["apis"][2]["locks"] = True
    return replace(task, inputs={**task.inputs, "world": world})


@pytest.mark.parametrize("formulation", ["react", "sum2act"])
def test_a_trap_locks_its_part_for_the_rest_of_a_path(formulation):
    task = trap()
    replies = ask(task), ask(task, 2), ask(task, 1), ask(task, 3), ask(task, place=1)
    told = played(task, *replies, formulation=formulation)
    assert [one.status for one in told] == ["ok", "ok", *["tool_error"] * 3]
    assert all("is locked" in one.result for one in told[2:])


def test_a_trap_that_was_asked_about_another_id_locks_nothing():
    task = trap()
    told = played(task, ask(task, 2, argument="XX-00000"), ask(task))
    assert [one.status for one in told] == ["tool_error", "ok"]


def test_a_branch_without_the_trap_is_not_locked():
    task = trap()
    replies = ask(task, 1), ask(task, 2), ask(task), give_up(), give_up(), ask(task)
    run, _ = run_once(task, "dfsdt", Replies(*replies, finish("1: 2")), ANY)
    assert [done.status for _, done in run.actions][:3] == ["ok", "ok", "tool_error"]
    assert [done.status for _, done in run.actions][-2:] == ["ok", "ok"] and run.outcome.ending == Ending.ANSWERED


def test_a_trap_locks_no_other_part():
    task = next(
        one
        for one in BENCHMARK.read(None, "I2-inst", parts="2", links="1", unsolvable="0", traps="1")
        if isinstance(one, Task)
    )
    first, second = ({**task.inputs["world"], "parts": [part]} for part in task.inputs["world"]["parts"])
    own, other = (replace(task, inputs={**task.inputs, "world": one}) for one in (first, second))
    told = played(task, ask(own, 2), ask(own), ask(other))
    assert [one.status for one in told] == ["ok", "tool_error", "ok"]


def test_the_call_that_is_recorded_names_the_lock():
    task = trap()
    _, journal = run_once(task, "react", Replies(ask(task), ask(task, 2), ask(task), finish("1: 2")), ANY)
    calls = [step.command for step in journal.steps if isinstance(step.command, Call)]
    assert ["locked" in one.arguments for one in calls] == [False, False, True]
    assert [one.nth for one in calls] == [0, 0, 1]


def test_long_answers_begin_with_their_facts_and_are_the_same_each_time():
    task = one_task()
    world = {**task.inputs["world"], "filler": 5_000}
    long = replace(task, inputs={**task.inputs, "world": world})
    told = played(long, ask(task), ask(task), ask(task, 1))
    assert len(response(told[0])["remarks"]) == 5_000 and told[0].result == told[1].result
    assert told[0].result.startswith(played(task, ask(task))[0].result[:-2])
    assert response(told[2])["remarks"] != response(told[0])["remarks"]


def test_a_task_whose_world_cannot_be_read_ends_no_episode():
    task = one_task()
    bad = replace(task, inputs={**task.inputs, "world": {"parts": "none"}})
    told = played(bad, ask(task))[0]
    assert told.status == "tool_error"
    assert "the generated APIs of this task cannot be read: parts: expected a list" in told.result


def test_an_api_that_is_not_of_the_world_has_no_answer():
    task = one_task()
    world = {**task.inputs["world"], "parts": []}
    assert played(replace(task, inputs={**task.inputs, "world": world}), ask(task))[0].status == "not_recorded"


@pytest.mark.parametrize("formulation", NAMES)
def test_an_episode_that_goes_on_from_any_of_its_steps_is_the_same(formulation):
    task, models = find_world_search()[0], Policies(0, 0.3)
    task = replace(task, inputs={key: value for key, value in task.inputs.items() if key != "given"})
    run, whole = run_once(task, formulation, models, ANY)
    assert len(whole.steps) > 6
    for cut in range(len(whole.steps)):
        again, journal = run_once(task, formulation, models, ANY, journal=MemoryJournal(whole.steps[:cut]))
        assert again.outcome == run.outcome
        assert [replace_seconds(one) for one in journal.steps] == [replace_seconds(one) for one in whole.steps]


def replace_seconds(step: Any) -> Any:
    timed = isinstance(step.command, Do) and isinstance(step.result, Execution)
    return step.position, step.branch, step.command, replace(step.result, seconds=0.0) if timed else None
