"""A stricter reading of `results_stated`, which our own annotations meet."""

from __future__ import annotations

import re

from lumos_queue.notation import strip_label
from lumos_queue.records import AnnotatedSubgoal
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

_REFERENCE = re.compile(r"\bsubgoals? \d+(?:(?:,| and|, and) \d+)*|\b(?:result|step) \d+\b", re.IGNORECASE)


def states_strictly(step: AnnotatedSubgoal) -> bool:
    """Return whether a number of the text, except labels and references, equals a result of the step."""
    numbers = numbers_in(_REFERENCE.sub(" ", strip_label(step.subgoal.text)), words=True)
    return any(read_number(result) in numbers for result in step.results)
