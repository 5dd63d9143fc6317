"""Whether an answer is right, part by part, and whether a call found something: by rule, without a judge.

An answer says `1: 20417; 2: unknown`. What stands behind the number of a part, up to that of another one, is about it;
of a task with one part all of it is. Numbers of ids (`SH-48213`) are no claims: they name what is spoken of.
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
    """What an answer says of a part."""

    VALUE = "value"  #: one value, and that it is the answer
    REFUSED = "refused"  #: that it is unknown, and no value
    UNCLEAR = "unclear"  #: several values, or a value that is said to be unknown
    MISSING = "missing"  #: nothing


class PartCheck(StrEnum):
    """What an answer is worth, of one part."""

    RIGHT = "right"  #: the value; of a part that has none, that it is unknown
    REFUSED = "refused"  #: said to be unknown, though it can be found
    WRONG = "wrong"  #: a claim that is not true
    MISSING = "missing"


def check_answer(parts: Sequence[Mapping[str, Any]], answer: str | None) -> list[PartCheck]:
    """`parts`: those of a task's gold."""
    texts = _split((answer or "")[:MAX_ANSWER], len(parts))
    return [_check(part["answer"], *_read_claim(text)) for part, text in zip(parts, texts, strict=True)]


def holds_value(parts: Sequence[Mapping[str, Any]], execution: Execution) -> bool:
    """Whether what a call returned holds a value that a gold call is for: the truth about a state manager's verdict.

    No two numbers of a task are equal, so that none is there by chance.
    """
    body = _whole_body(execution)
    return any(re.search(rf'"{re.escape(call["value"])}"', body) for part in parts for call in part["calls"])


def _whole_body(execution: Execution) -> str:
    """What a call returned, also where a model was shown less."""
    value: Mapping[str, Any] = execution.values[0] if execution.values else {}
    return str(value.get("full", execution.result))


def _split(answer: str, part_count: int) -> list[str]:
    """What an answer says of each part."""
    marks = [match for match in _PART.finditer(answer) if int(match[1]) <= part_count]
    if not marks:
        return [answer] if part_count == 1 else [""] * part_count
    texts = [""] * part_count
    ends = [mark.start() for mark in marks[1:]] + [len(answer)]
    for mark, end in zip(marks, ends, strict=True):
        texts[int(mark[1]) - 1] += f" {answer[mark.end() : end]}"
    return texts


def _read_claim(text: str) -> tuple[Claim, str]:
    """What a text about a part claims, and the value."""
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
