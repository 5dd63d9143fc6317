"""Check by rule whether the calls of an episode solve its case. The quality of the experts does not affect the result.

The episode must make the gold calls in their order. Each must succeed, with the right pictures and the required words.
The last picture of the episode must be the picture of the last gold call. Extra calls do not count as errors.
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
    """The number of gold calls that an episode made, and the reason why it is no success."""

    completed: int  #: number of gold calls that were made, in their order
    problem: str = ""  #: why it is no success; '' if it is one


def check_case(steps: Sequence[Mapping[str, Any]], calls: Sequence[tuple[Action, Execution]]) -> CaseCheck:
    """Return the result for an episode. `steps`: its gold calls (cases.py); `calls`: all its calls, in order."""
    completed, final_picture, last_picture = 0, "", ""
    for action, execution in calls:
        if not (execution.ok and execution.values):
            continue
        pictures = list(_pictures_of(action, execution))
        last_picture = pictures[-1] if pictures else last_picture
        if completed < len(steps) and _is_step(steps[completed], action, execution.values[0]):
            completed += 1
            final_picture = pictures[-1] if pictures else ""
    if completed < len(steps):
        return CaseCheck(completed, f"no {steps[completed]['function']} as it was asked for")
    if last_picture != final_picture:
        return CaseCheck(completed, "the picture that was made last is another one")
    return CaseCheck(completed)


def _pictures_of(action: Action, execution: Execution) -> Iterator[str]:
    """Yield the sha256 of the pictures that a call made; a picture of the webcam does not count."""
    if action.name != TAKE_PICTURE:
        for value in execution.values:
            yield from (
                artifact["sha256"] for artifact in artifacts_of(value) if artifact["media_type"].startswith("image/")
            )


def _is_step(step: Mapping[str, Any], action: Action, value: Mapping[str, Any]) -> bool:
    arguments = value.get(ARGUMENTS, {})
    texts = {name: str(arguments.get(name, "")).lower() for name in (*step["words"], *step.get("without", {}))}
    return (
        action.name == step["function"]
        and value.get(IMAGES, {}) == step["images"]
        and step.get("returns", "") in str(value.get("full", value["text"]))
        and all(
            any(_has(texts[name], word) for word in forms)
            for name, word_groups in step["words"].items()
            for forms in word_groups
        )
        and not any(_has(texts[name], word) for name, words in step.get("without", {}).items() for word in words)
    )


def _has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None
