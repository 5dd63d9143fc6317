"""The kinds of answers of benchmarks. Prompts request an answer of a kind, and readers look for such an answer."""

from __future__ import annotations

from enum import StrEnum


class AnswerKind(StrEnum):
    """The kind of every answer of a benchmark.

    >>> import lumos_queue as lq
    >>> lq.AnswerKind("number") is lq.AnswerKind.NUMBER
    True
    """

    NUMBER = "number"
    CHOICE = "choice"  #: one of the choices that a task's question lists with their letters
    YES_NO = "yes_no"
    TEXT = "text"
