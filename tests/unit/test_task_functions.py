"""A task's functions are read once for an episode, and of one task never taken for those of another."""

from __future__ import annotations

import pytest

from lumos_queue.actions.tools import task_functions
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.task_functions import MAX_KEPT, RECENT, functions_of_task
from lumos_queue.records import Task


def entry(api: str) -> dict:
    return {"category_name": "Food", "tool_name": "Menu", "api_name": api, "required_parameters": [{"name": "dish"}]}


def task(*apis: str) -> Task:
    return Task("toolbench", "d", "1", "What?", {"functions": [entry(api) for api in apis]}, {"relevant": []})


def test_they_are_those_of_the_entries_by_name_in_order_and_read_once():
    one = task("Starters", "Mains")
    found = functions_of_task(one)
    assert list(found) == ["starters_for_menu", "mains_for_menu"]
    assert tuple(found.values()) == functions_of(one.inputs["functions"])
    assert functions_of_task(one.without_gold()) is found  # what prompt, session and score ask with
    with pytest.raises(TypeError):
        found["other"] = found["mains_for_menu"]  # type: ignore[index]


def test_lists_come_and_go_and_each_task_has_its_own():
    """Lists that are given up free their identity for the next ones."""
    for number in range(3 * RECENT):
        assert list(functions_of_task(task(f"Dish {number}"))) == [f"dish_{number}_for_menu"]
    assert len(task_functions._recent) == RECENT


def test_a_list_of_very_many_is_not_kept():
    large = task(*(f"Dish {number}" for number in range(MAX_KEPT + 1)))
    assert len(functions_of_task(large)) == MAX_KEPT + 1
    assert id(large.inputs["functions"]) not in task_functions._recent


@pytest.mark.parametrize("inputs", [{}, {"functions": None}, {"functions": 3}, {"functions": {"api_name": "x"}}])
def test_a_task_without_a_list_has_none(inputs):
    assert functions_of_task(Task("toolbench", "d", "1", "What?", inputs)) == {}
