"""Read raw annotations, which the original's conversion writes and turns into training files (spec/lumos.md 2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.compat.lines import JsonLine, JsonLines, text_field
from lumos_queue.errors import BadRow


@dataclass(frozen=True, slots=True)
class RawAnnotation:
    """One row of `converted/*.json`."""

    task: str
    natural_language_plan: str | tuple[str, ...]  #: a tuple for web tasks: the recorded operations
    subgoal_plan: str
    ans: str | None = None  #: the gold answer; GSM8K only


def read_raw(path: Path) -> Iterator[RawAnnotation | BadRow]:
    """Yield the rows of a raw annotation file in order; a row that cannot be read is a BadRow.

    Raises SpecError when the file does not exist.
    """
    for line in JsonLines(path):
        if isinstance(line, BadRow):
            yield line
            continue
        try:
            yield _read(line)
        except BadRow as bad:
            yield bad


def _read(line: JsonLine) -> RawAnnotation:
    plan, answer = line.row.get("natural_language_plan"), line.row.get("ans")
    if isinstance(plan, list) and all(isinstance(part, str) for part in plan):
        plan = tuple(plan)
    elif not isinstance(plan, str):
        problem = "is missing" if plan is None else "expected a text or a list of texts"
        raise BadRow(line.number, "natural_language_plan", problem)
    if answer is not None and not isinstance(answer, (str, int, float)):
        raise BadRow(line.number, "ans", "expected a text or a number")
    return RawAnnotation(
        text_field(line, "task"), plan, text_field(line, "subgoal_plan"), None if answer is None else str(answer)
    )
