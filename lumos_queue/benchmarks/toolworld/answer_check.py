"""Check by rule, without a judge, whether each part of an answer is right, and whether a call returned a gold value.

An answer has the form `1: 20417; 2: unknown`. The text from the number of a part to the next number is about that part;
if an answer to a task of one part has no such number, the whole answer is about it. Ids (`SH-48213`) are no values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from lumos_queue.records import Execution

MAX_ANSWER = 4_000  #: characters that are read
_ID = re.compile(r"\b[A-Z]{2}-[0-9]{3,5}\b", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_PART = re.compile(r"(?<![\w.,-])\(?(?:part )?([1-9])\)?\s*(?:[:)]|\.(?![0-9]))\s*", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\b(?:unknown|not (?:be )?(?:found|available|known)|unavailable|(?:cannot|could not|can't|couldn't) be "
    r"(?:found|answered|determined|retrieved))\b",
    re.IGNORECASE,
)


class Claim(StrEnum):
    """The kind of claim that an answer makes about a part of the task."""

    VALUE = "value"  #: a single value, as the answer
    REFUSED = "refused"  #: the answer is unknown, without a value
    UNCLEAR = "unclear"  #: several values, or a value and the claim that it is unknown
    MISSING = "missing"  #: no claim


class PartCheck(StrEnum):
    """The verdict on an answer's claim about a part of the task."""

    RIGHT = "right"  #: the right value, or `unknown` for a part without an answer
    REFUSED = "refused"  #: `unknown` for a part with an answer
    WRONG = "wrong"  #: a false claim
    MISSING = "missing"


def check_answer(parts: Sequence[Mapping[str, Any]], answer: str | None) -> list[PartCheck]:
    """Return the verdict on an answer for each part of the task. `parts`: the parts of the task's gold."""
    texts = _split((answer or "")[:MAX_ANSWER], len(parts))
    return [_check(part["answer"], *_read_claim(text)) for part, text in zip(parts, texts, strict=True)]


def holds_value(parts: Sequence[Mapping[str, Any]], execution: Execution) -> bool:
    """Whether a call returned the value of a gold call, to check the verdicts of state managers.

    All numbers of a task differ, so no value matches by chance.
    """
    body = _whole_body(execution)
    return any(re.search(rf'"{re.escape(call["value"])}"', body) for part in parts for call in part["calls"])


def _whole_body(execution: Execution) -> str:
    """Return the whole text that a call returned, even if a model only saw its beginning."""
    value: Mapping[str, Any] = execution.values[0] if execution.values else {}
    return str(value.get("full", execution.result))


def _split(answer: str, part_count: int) -> list[str]:
    """Return, for each part of the task, the text of the answer about it; '' if there is none."""
    marks = [match for match in _PART.finditer(answer) if int(match[1]) <= part_count]
    if not marks:
        return [answer] if part_count == 1 else [""] * part_count
    texts = [""] * part_count
    ends = [mark.start() for mark in marks[1:]] + [len(answer)]
    for mark, end in zip(marks, ends, strict=True):
        texts[int(mark[1]) - 1] += f" {answer[mark.end() : end]}"
    return texts


def _read_claim(text: str) -> tuple[Claim, str]:
    """Return the kind of claim in a text about a part, and the value of the claim, or ''."""
    values = {number.replace(",", "") for number in _NUMBER.findall(_ID.sub("", text))}
    unknown = _UNKNOWN.search(text) is not None
    if not values:
        return (Claim.REFUSED if unknown else Claim.MISSING), ""
    if unknown or len(values) > 1:
        return Claim.UNCLEAR, ""
    return Claim.VALUE, values.pop()


def _check(gold: str | None, claim: Claim, value: str) -> PartCheck:
    if claim == Claim.MISSING:
        return PartCheck.MISSING
    if claim == Claim.REFUSED:
        return PartCheck.RIGHT if gold is None else PartCheck.REFUSED
    return PartCheck.RIGHT if claim == Claim.VALUE and value == gold else PartCheck.WRONG
