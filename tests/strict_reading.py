"""A stricter check than rationales/maths/stated.py: our own demonstrations must pass it, teachers' replies need not."""

from __future__ import annotations

from lumos_queue.notation import unlabelled
from lumos_queue.rationales.maths.stated import REFERENCE
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number


def strictly_stated(step):
    """Whether any number of the text, apart from labels and references to subgoals, equals a result of the step."""
    numbers = numbers_in(REFERENCE.sub(" ", unlabelled(step.subgoal.text)), words=True)
    return any(read_number(result) in numbers for result in step.results)
