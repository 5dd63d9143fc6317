"""Kinds of infrastructure failures, by the message that is stored with an episode's ending."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class FailureClass(StrEnum):
    """Kinds of failures that neither a model nor a task causes. Each has its own remedy."""

    REFUSED = "refused"  #: a model server kept refusing this request and answered others (endpoints/evidence.py)
    FAILED = "failed"  #: a model server failed every try of this request and answered others
    UNFIT = "unfit"  #: a role has no endpoint, or one that lacks a feature: images, candidates, beams
    SCRIPT = "script"  #: a script of replies (scripted:FILE) has none for the prompt
    IMAGE = "image"  #: the database lacks an image that the task or a step names
    DATABASE = "database"  #: the database refuses the episode's rows
    FAULT = "fault"  #: an error in Lumos, or in an extension, with the name of the exception
    DIED = "died"  #: quarantined: too many processes died while this item was all they worked on
    OTHER = "other"  #: none of these: messages of earlier versions, and of third-party code


#: The first match counts. Texts of servers and rows may be anything, so a pattern matches the message's beginning.
_PATTERNS = (
    (FailureClass.DATABASE, r"the database refuses its rows: "),
    (FailureClass.IMAGE, r"the database holds no image "),
    (FailureClass.SCRIPT, r"no rule of the script fits |the script of \d+ replies is used up"),
    (FailureClass.UNFIT, r"no endpoint for the role |images belong to a turn "),
    (FailureClass.UNFIT, r"\S+ (?:gives no candidates with log-probabilities|takes no images): "),
    (FailureClass.REFUSED, r"\S*[^\s:] answered \d{3}\b"),
    (FailureClass.FAILED, r"failed \d+ times while the server answered others; "),
    (FailureClass.FAULT, r"[A-Za-z_][A-Za-z0-9_]*: "),
)
_KNOWN = tuple((kind, re.compile(rf"\A(?:{pattern})")) for kind, pattern in _PATTERNS)


@lru_cache(maxsize=1024)
def classify(message: str) -> FailureClass:
    """Return the class of an `infra_error` that has this message."""
    return next((kind for kind, pattern in _KNOWN if pattern.match(message)), FailureClass.OTHER)
