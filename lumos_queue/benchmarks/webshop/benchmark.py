"""WebShop: buy what an instruction asks for (princeton-nlp/WebShop, MIT).

Without `--data`, the project's own shop and goals are generated (MIT). With `--data`, goals are read from a file in one
of WebShop's forms (goal_files.py), and their products from `--tool catalogue=FILE`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lumos_queue.actions.shop.reward import reward
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.webshop.baselines import shop_baselines
from lumos_queue.benchmarks.webshop.goal_files import OPTIONS, read_goals
from lumos_queue.benchmarks.webshop.goals import SPLITS
from lumos_queue.benchmarks.webshop.item_numbers import renumber
from lumos_queue.benchmarks.webshop.tasks import annotate, goal_of, goals
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Level, Score, Task

SIZES = {"train": 4_000, "dev": 200, "test": 500}


class WebShop(Benchmark):
    """`reward` is WebShop's, from 0 to 1; `success_rate` counts rewards of 1. Without a purchase, both are 0."""

    name = "webshop"
    domain = "webshop"
    licence = "MIT"
    splits = SPLITS
    needs_data = False
    by_answer = False
    slow = True
    metrics = ("reward", "success_rate")
    options = OPTIONS
    check_level = Level.FORMAT  # actions of a shop cannot be repeated out of order
    teacher_prompt = "web"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield the generated tasks of a split, always the same; or goals from a file (goal_files.py)."""
        if path is not None:
            return read_goals(path, split, options)
        if options:
            raise SpecError(f"--option {next(iter(options))}=… is for goals from a file: give --data PATH, or omit it.")
        return goals(split, SIZES.get(split, 0))

    def gold(self, task: Task) -> Annotation:
        """Return the gold solution: five subgoals, executed in the generated shop. Raises SpecError for file goals."""
        return annotate(task)

    def gold_answer(self, task: Task) -> str:
        """Return the text of the gold solution after the purchase."""
        return self.gold(task).answer

    def annotation(self, task: Task) -> Annotation:
        """Return the gold solution with random numbers of items (item_numbers.py). Raises NotConvertible."""
        try:
            gold = self.gold(task)
        except SpecError as error:
            raise NotConvertible("no_rationale") from error
        return replace(gold, steps=tuple(renumber(gold.steps, random.Random(f"items {task.row}"))))

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return the scores of the purchase, by the product's record in the agent's catalogue. Raises SpecError."""
        purchase = next(
            (
                record
                for _, execution in result.seen
                if execution.ok
                for record in execution.values
                if record.get("kind") == "purchase"
            ),
            None,
        )
        if purchase is None:
            return (Score("reward", 0.0, detail="nothing was bought"), Score("success_rate", 0.0))
        product = open_stock(result.tools).products.get(str(purchase["asin"]).upper())
        if product is None:
            raise SpecError(f"The product '{purchase['asin']}' is not in the catalogue of this agent.")
        judgement = reward(goal_of(task), product, product.price, purchase["options"])
        detail = (
            f"r_type {judgement.r_type:g}, attributes {judgement.attributes}, options {judgement.options}, "
            f"price {'within' if judgement.r_price else 'above'} the limit"
        )
        return (Score("reward", judgement.value, detail=detail), Score("success_rate", float(judgement.value == 1)))

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        """Return the rewards of rules that need no model (baselines.py)."""
        return shop_baselines(tasks)


benchmark = WebShop()
