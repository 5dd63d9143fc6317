"""Replace the numbers of items in a gold solution by random numbers, different for each task of a conversion.

Otherwise a model could memorise the numbers of the few thousand products, instead of reading them on pages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lumos_queue.records import Action, AnnotatedSubgoal

_ASIN = re.compile(r"\bb\d{5}\b")  #: the form on pages of the generated shop


def renumber(steps: Iterable[AnnotatedSubgoal], rng: random.Random) -> Iterator[AnnotatedSubgoal]:
    """Yield the steps with a random number for each item. All steps have the same number for the same item."""
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
