"""The rule by which OpenAGI's released code decides whether a plan is run. It is a list of names without branches.

The rule compares the input of the first expert and the output of the last one with a range of task numbers. The ranges
belong to an older list of 189 tasks. For planners with prompts, each output must also have the type of the next input.
Experts may be repeated. Of the 185 gold plans, the rule refuses 67, among them all 60 of an image and a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lumos_queue.experts.base import Expert
from lumos_queue.experts.catalogue import EXPERTS

TYPES, RELEASED = "types", "released"  #: the rules: experts/feasibility.py, and this module
MAX_EXPERTS = 63  #: limit of a plan's experts; the released code has none
_RANGES = {
    ("image", "image"): range(15),
    ("image", "text"): range(15, 105),
    ("text", "image"): range(105, 108),
    ("text", "text"): range(108, 126),
    ("image-text", "text"): range(126, 171),
    ("text-text", "text"): range(171, 189),
}


def find_released_refusal(names: Sequence[str], task: int, pairs: bool = True) -> str:
    """Return why the released code does not run a plan, as text for a person; '' if it runs it.

    `names`: all experts in the order of the plan's text. `task`: the number of the task, from 0. `pairs`: whether the
    types of neighbours must match, as for planners with prompts; fine-tuned planners are judged by the two ends alone.
    """
    if not names:
        return "the plan names no expert"
    if len(names) > MAX_EXPERTS:
        return f"{len(names)} experts, at most {MAX_EXPERTS} may be"
    if unknown_names := [name for name in names if name not in EXPERTS]:
        return f"there is no expert '{unknown_names[0][:80]}'"
    experts = [EXPERTS[name] for name in names]
    for expert, successor in pairwise(experts):
        if pairs and expert.output != _input_type(successor):
            return f"'{successor.name}' takes {_input_type(successor)}, and gets {expert.output}"
    ends = _input_type(experts[0]), str(experts[-1].output)
    if ends not in _RANGES:
        return f"the released code expects no plan from {ends[0]} to {ends[1]}"
    numbers = _RANGES[ends]
    if task not in numbers:
        expectation = f"{ends[0]} to {ends[1]} in tasks {numbers[0]} to {numbers[-1]}"
        return f"the released code expects {expectation}, and this is {task}"
    return ""


def _input_type(expert: Expert) -> str:
    return "-".join(slot.kind for slot in expert.slots)
