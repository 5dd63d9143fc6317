"""What rules without a model earn in the generated shop: the reward of each goal, by rule.

- never buys: nothing, by definition of the reward;
- buys the first result: searches for the whole instruction, buys what comes first, chooses no option;
- buys the first result with its options: the same, and clicks every option whose words the instruction holds.
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
    """Rule name to one reward per task; goals from a file have only the first rule: their shop is not known here.

    Each task is read once and not retained.
    """
    never: list[float] = []
    first: list[float] = []
    with_options: list[float] = []
    generated = True
    for task in tasks:
        never.append(0.0)
        generated = generated and "words" in task.gold
        if generated:
            product = _first_result(task.question)
            first.append(_reward_of(task, product, {}))
            chosen = options_in_text(product, task.question) if product else {}
            with_options.append(_reward_of(task, product, chosen))
    rules = {"never buys": never}
    if generated:
        rules |= {"buys the first result": first, "buys the first result with its options": with_options}
    return rules


def options_in_text(product: Product, text: str) -> dict[str, str]:
    """Group to value, for each option that the text holds word for word; the last of a group."""
    said = f" {' '.join(_WORDS.findall(text.lower()))} "
    return {group: value for group, values in product.options.items() for value in values if f" {value} " in said}


def _first_result(instruction: str) -> Product | None:
    return next(iter(open_stock({}).index.search(instruction, 1)), None)


def _reward_of(task: Task, bought: Product | None, chosen: Mapping[str, str]) -> float:
    return reward(goal_of(task), bought, bought.price, chosen).value if bought else 0.0
