"""Make the gold solution of a worded goal: five subgoals, whose actions are executed in the generated shop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from lumos_queue.actions.shop.interface import ShopActions
from lumos_queue.benchmarks.webshop.goals import WordedGoal
from lumos_queue.episode import StepContext
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Execution, Subgoal, Task

T = TypeVar("T")

#: The subgoals; `{0}` and `{1}` are two items of the search.
SUBGOALS = (
    "Search for two items that fit the request.",
    "Look at the features of item {0} that fit best.",
    "Look at the features of item {1} that fit best.",
    "Pick the item that fits best by its name and features.",
    "Choose the options of this item and buy it.",
)


class NoGold(SpecError):
    """Raised if the gold words do not lead to the product of the goal."""


@lru_cache(maxsize=20_000)
def act_out(worded_goal: WordedGoal) -> Annotation:
    """Return the gold solution, with the results of the generated shop. Raises NoGold."""
    return _run_in_thread(_act_out(worded_goal))


def _run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in another thread because this thread may have a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _act_out(worded_goal: WordedGoal) -> Annotation:
    actions = ShopActions()
    session = actions.begin(Task("webshop", "", "", worded_goal.instruction))
    variables: dict[str, Mapping[str, Any]] = {}
    history: list[tuple[Action, Execution]] = []
    steps: list[AnnotatedSubgoal] = []
    try:
        for number, subgoal in enumerate(SUBGOALS, start=1):
            items = [item["asin"] for item in variables["R1"]["items"]] if number > 1 else []
            if number > 1 and len(items) < 2:
                raise NoGold("fewer than two items found")
            lines = read_actions(_line(number, worded_goal, items))
            results = []
            for action in lines:
                execution = await session.execute(action, StepContext(0, 0, variables, history))
                if not execution.ok:
                    raise NoGold(f"{action.raw}: {execution.message}")
                history.append((action, execution))
                variables.update(zip(action.variables, execution.values, strict=True))
                results.append(execution.result)
            if number == 4 and variables["R7"]["asin"].upper() != worded_goal.goal.asin:
                raise NoGold("another item is picked")
            text = f"Subgoal {number}: {subgoal.format(*items)}"
            steps.append(AnnotatedSubgoal(Subgoal(number, text), lines, tuple(results)))
    finally:
        await session.close()
        await actions.close()
    return Annotation(tuple(steps), "Done")


def _line(number: int, worded_goal: WordedGoal, items: list[str]) -> str:
    """Return the grounder's line for the subgoal with this number. `items`: the numbers of the items of the search."""
    if number == 1:
        return f"R1 = Search({worded_goal.search})"
    if number == 2:
        return f"R2 = Click({items[0]}); R3 = FeatureRetrieve(R2, Query: {worded_goal.words})"
    if number == 3:
        return f"R4 = Click(< prev); R5 = Click({items[1]}); R6 = FeatureRetrieve(R5, Query: {worded_goal.words})"
    if number == 4:
        return f"R7 = Pick(Item_names: R1, Item_features: [R3, R6], Query: {worded_goal.words})"
    clicks = ["< prev", "R7", *worded_goal.options, "buy now"]
    return "; ".join(f"R{index} = Click({target})" for index, target in enumerate(clicks, start=8))
