"""Other numbers for the items of a gold solution: a conversion draws them anew for each task.

A model would learn those of the few thousand products by heart, where it has to read them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lumos_queue.records import Action, AnnotatedSubgoal

_ASIN = re.compile(r"\bb\d{5}\b")  #: as a page of the generated shop writes it


def renumber(steps: Iterable[AnnotatedSubgoal], rng: random.Random) -> Iterator[AnnotatedSubgoal]:
    """The steps, with the same number for the same item in all of them."""
    numbers: dict[str, str] = {}

    def replace_number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"b{rng.randrange(10_000, 100_000)}")

    def renumber_action(action: Action) -> Action:
        return replace(
            action, raw=_ASIN.sub(replace_number, action.raw), arguments=_ASIN.sub(replace_number, action.arguments)
        )

    for step in steps:
        subgoal = replace(step.subgoal, text=_ASIN.sub(replace_number, step.subgoal.text))
        results = tuple(_ASIN.sub(replace_number, result) for result in step.results)
        yield AnnotatedSubgoal(subgoal, tuple(map(renumber_action, step.actions)), results)
