"""Convert goals of the shop to tasks, and tasks back to goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from lumos_queue.actions.shop.reward import Goal
from lumos_queue.benchmarks.webshop.goals import WordedGoal, generate_goals
from lumos_queue.benchmarks.webshop.gold import NoGold, act_out
from lumos_queue.errors import SpecError
from lumos_queue.records import Annotation, Task


def goals(split: str, number: int, seed: int = 0) -> Iterator[Task]:
    """Yield the first `number` tasks of a split of the generated shop. Raises SpecError for an unknown split."""
    return _tasks(split, number, generate_goals(split, seed))


def annotate(task: Task) -> Annotation:
    """Return the gold solution of a generated task. Raises SpecError if the task has no gold words."""
    if "words" not in task.gold:
        raise SpecError("no gold words: goals from a file do not say how to find their product")
    gold = task.gold
    return act_out(WordedGoal(task.question, goal_of(task), gold["search"], gold["words"], tuple(gold["options"])))


def goal_of(task: Task) -> Goal:
    """Return the goal of a task."""
    goal = task.gold["goal"]
    options = goal["goal_options"]
    return Goal(
        goal["asin"],
        goal["category"],
        goal["query"],
        goal["name"],
        goal["product_category"],
        tuple(goal["attributes"]),
        tuple(options.values() if isinstance(options, Mapping) else options),
        float(goal["price_upper"]),
    )


def _tasks(split: str, number: int, candidates: Iterator[WordedGoal]) -> Iterator[Task]:
    rows = count(1)
    for worded_goal in candidates:
        if number <= 0:
            return
        try:
            act_out(worded_goal)
        except NoGold:
            continue
        number -= 1
        gold = {
            "goal": _as_json(worded_goal),
            "search": worded_goal.search,
            "words": worded_goal.words,
            "options": list(worded_goal.options),
        }
        yield Task(
            "webshop", "", f"{split}-{next(rows)}", worded_goal.instruction, {"kind": worded_goal.goal.query}, gold
        )


def _as_json(worded_goal: WordedGoal) -> dict[str, Any]:
    """Return the goal as an object in WebShop's form."""
    goal = worded_goal.goal
    return {
        "asin": goal.asin,
        "category": goal.category,
        "query": goal.query,
        "name": goal.name,
        "product_category": goal.product_category,
        "instruction_text": worded_goal.instruction,
        "attributes": list(goal.attributes),
        "price_upper": goal.price_upper,
        "goal_options": list(goal.options),
        "weight": 1,
    }
