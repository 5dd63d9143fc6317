"""What rules without a model earn in the generated shop: the reward of each goal, by rule.

- never buys: nothing, by definition of the reward;
- buys the first result: searches for the whole instruction, buys what comes first, chooses no option;
- buys the first result with its options: the same, and clicks every option whose words the instruction holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.reward import reward
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.benchmarks.webshop.tasks import goal_of
from lumos_queue.records import Task

_WORDS = re.compile(r"[\w.-]+")


def shop_baselines(tasks: Sequence[Task]) -> dict[str, list[float]]:
    """Rule name to one reward per task; goals from a file have only the first rule: their shop is not known here."""
    rules = {"never buys": [0.0 for _ in tasks]}
    if any("words" not in task.gold for task in tasks):
        return rules
    first = [_first_result(task.question) for task in tasks]
    return {
        **rules,
        "buys the first result": [_reward_of(task, found, {}) for task, found in zip(tasks, first, strict=True)],
        "buys the first result with its options": [
            _reward_of(task, found, options_in_text(found, task.question) if found else {})
            for task, found in zip(tasks, first, strict=True)
        ],
    }


def options_in_text(product: Product, text: str) -> dict[str, str]:
    """Group to value, for each option that the text holds word for word; the last of a group."""
    said = f" {' '.join(_WORDS.findall(text.lower()))} "
    return {group: value for group, values in product.options.items() for value in values if f" {value} " in said}


def _first_result(instruction: str) -> Product | None:
    return next(iter(open_stock({}).index.search(instruction, 1)), None)


def _reward_of(task: Task, bought: Product | None, chosen: Mapping[str, str]) -> float:
    return reward(goal_of(task), bought, bought.price, chosen).value if bought else 0.0
