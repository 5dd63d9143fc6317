"""Whether an episode did what a case asks for: by rule, from its calls alone, whatever runs the experts.

The gold calls must be there in their order, with success, each about the right pictures and with the words it needs;
the picture that was made last must be that of the last of them. Further calls do no harm: they are in the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.actions.local.documents import TAKE_PICTURE
from lumos_queue.actions.local.images import artifacts_of
from lumos_queue.actions.local.interface import ARGUMENTS, IMAGES
from lumos_queue.records import Action, Execution


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """How far an episode came."""

    done: int  #: gold calls that were made, in their order
    problem: str = ""  #: why it is no success; '' if it is one


def check_case(steps: Sequence[Mapping[str, Any]], seen: Sequence[tuple[Action, Execution]]) -> CaseCheck:
    """`steps`: the gold calls (cases.py); `seen`: all calls of the episode in their order."""
    done, wanted, last = 0, "", ""
    for action, execution in seen:
        if not (execution.ok and execution.values):
            continue
        made = list(_pictures_of(action, execution))
        last = made[-1] if made else last
        if done < len(steps) and _is_step(steps[done], action, execution.values[0]):
            done += 1
            wanted = made[-1] if made else ""
    if done < len(steps):
        return CaseCheck(done, f"no {steps[done]['function']} as it was asked for")
    if last != wanted:
        return CaseCheck(done, "the picture that was made last is another one")
    return CaseCheck(done)


def _pictures_of(action: Action, execution: Execution) -> Iterator[str]:
    """The sha256 of the pictures that a call made; the webcam's is not made."""
    if action.name != TAKE_PICTURE:
        for value in execution.values:
            yield from (one["sha256"] for one in artifacts_of(value) if one["media_type"].startswith("image/"))


def _is_step(step: Mapping[str, Any], action: Action, value: Mapping[str, Any]) -> bool:
    arguments = value.get(ARGUMENTS, {})
    texts = {name: str(arguments.get(name, "")).lower() for name in (*step["words"], *step.get("without", {}))}
    return (
        action.name == step["function"]
        and value.get(IMAGES, {}) == step["images"]
        and step.get("returns", "") in str(value.get("full", value["text"]))
        and all(any(_has(texts[name], word) for word in one) for name, all_ in step["words"].items() for one in all_)
        and not any(_has(texts[name], word) for name, words in step.get("without", {}).items() for word in words)
    )


def _has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None
