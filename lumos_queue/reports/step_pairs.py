"""Two episodes on the same task side by side: their steps as text, and the first at which they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

Step = Mapping[str, Any]  #: as in `lumos show --json`: at, who, what, result


def pair_steps(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two episodes as JSON (`lumos show --json`), their steps in pairs by place; `first_difference`: place from 0.

    After the last step comes the answer. None where they did and answered the same.
    """
    mine, theirs = (
        [*describe_steps(one["steps"]), f"{one['ending'] or 'not finished'}: {_answer(one)}"] for one in (first, other)
    )
    steps = [{"a": a, "b": b} for a, b in zip_longest(mine, theirs, fillvalue="")]
    parts = next((place for place, one in enumerate(steps) if one["a"] != one["b"]), None)
    return {"a": first, "b": other, "steps": steps, "first_difference": parts}


def describe_steps(steps: Sequence[Step]) -> list[str]:
    """A text for each step that is not only the model's call for the next ones: subgoals, actions with results."""
    own = [step for step in steps if "within" not in step]
    texts = []
    for step, after in zip_longest(own, own[1:], fillvalue={"who": ""}):
        match step["who"]:
            case "subgoal":
                texts.append(step["what"])
            case "tool":
                texts.append(f"{step['what']} → {step['result']}")
            case _ if after["who"] not in ("subgoal", "tool"):  # a reply that nothing was read from
                texts.append(f"{step['who']}: {step['what']}")
    return texts


def _answer(shown: Mapping[str, Any]) -> str:
    return "no answer" if shown["answer"] is None else shown["answer"]
