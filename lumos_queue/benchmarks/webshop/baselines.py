"""Rewards of rules without a model in the generated shop, for each goal.

- never buys: 0, by definition of the reward;
- buys the first result: searches for the whole instruction, buys the first result, chooses no option;
- buys the first result with its options: the same, and clicks every option whose words are in the instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.reward import reward
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.benchmarks.webshop.tasks import goal_of
from lumos_queue.records import Task

_WORDS = re.compile(r"[\w.-]+")


def shop_baselines(tasks: Iterable[Task]) -> dict[str, list[float]]:
    """Return rule name to a reward for each task. Goals from a file only have `never buys`: their shop is unknown.

    Each task is read once and not retained.
    """
    never: list[float] = []
    first: list[float] = []
    with_options: list[float] = []
    is_generated = True
    for task in tasks:
        never.append(0.0)
        is_generated = is_generated and "words" in task.gold
        if is_generated:
            product = _first_result(task.question)
            first.append(_reward_of(task, product, {}))
            options = options_in_text(product, task.question) if product else {}
            with_options.append(_reward_of(task, product, options))
    rules = {"never buys": never}
    if is_generated:
        rules |= {"buys the first result": first, "buys the first result with its options": with_options}
    return rules


def options_in_text(product: Product, text: str) -> dict[str, str]:
    """Return option group to the last of its values whose exact words are in the text; omit groups without any."""
    padded_text = f" {' '.join(_WORDS.findall(text.lower()))} "
    return {
        group: value for group, values in product.options.items() for value in values if f" {value} " in padded_text
    }


def _first_result(instruction: str) -> Product | None:
    return next(iter(open_stock({}).index.search(instruction, 1)), None)


def _reward_of(task: Task, product: Product | None, options: Mapping[str, str]) -> float:
    return reward(goal_of(task), product, product.price, options).value if product else 0.0
