"""The project's own shop: the gold way to each purchase, with the results that the generated shop gave to it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lumos_queue.benchmarks.source import Source
from lumos_queue.benchmarks.webshop.benchmark import benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Task

_ASIN = re.compile(r"\bb\d{5}\b")  #: as a page of the generated shop writes it


class WebShopSource(Source):
    """The tasks are the benchmark's. A shop cannot be asked a second time out of order: the form alone is checked.

    The numbers of the items are drawn anew for each task. Else a model learns those of the few thousand products by
    heart, where it has to read them.
    """

    name = "webshop"
    domain = "webshop"
    prompt = "web"
    licence = benchmark.licence
    splits = benchmark.splits
    needs_data = benchmark.needs_data
    options = benchmark.options

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return benchmark.read(path, split, **options)

    def gold(self, task: Task) -> Annotation:
        try:
            gold = benchmark.gold(task)
        except SpecError as error:
            raise NotConvertible("no_rationale") from error
        return replace(gold, steps=tuple(_renumbered(gold.steps, random.Random(f"items {task.row}"))))

    def answer(self, task: Task) -> str:
        """What is left to be said after the purchase."""
        return self.gold(task).answer


def _renumbered(steps: Iterable[AnnotatedSubgoal], rng: random.Random) -> Iterator[AnnotatedSubgoal]:
    numbers: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"b{rng.randrange(10_000, 100_000)}")

    def action(one: Action) -> Action:
        return replace(one, raw=_ASIN.sub(other, one.raw), arguments=_ASIN.sub(other, one.arguments))

    for step in steps:
        subgoal = replace(step.subgoal, text=_ASIN.sub(other, step.subgoal.text))
        results = tuple(_ASIN.sub(other, result) for result in step.results)
        yield AnnotatedSubgoal(subgoal, tuple(map(action, step.actions)), results)


source = WebShopSource()
