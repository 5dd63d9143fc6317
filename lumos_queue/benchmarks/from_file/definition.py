"""The definition of a file's benchmark: title, names of fields, scorer. It is stored with every job of the file.

Workers and reports need neither the file nor a module: they make the benchmark from this definition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lumos_queue.errors import SpecError

PREFIX = "file:"  #: of the stored names of such benchmarks; registered names do not have it
OWN = "own"  #: the default split of a file's rows; it is no test split
UNKNOWN_LICENCE = "unknown"
MAX_TITLE = 80  #: characters
_NOT_IN_TITLE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names of a row's fields; '' or () if rows have no such field."""

    question: str
    answers: tuple[str, ...] = ()  #: each field has a right answer or a list of right answers
    id: str = ""
    choices: str = ""
    images: str = ""
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class JudgeDefinition:
    """How the role `judge` grades an answer."""

    rubric: str  #: the template: {question}, {answer} and {gold} are replaced
    grades: int = 2  #: 2: right or wrong; 5: grades 1 to 5
    votes: int = 1  #: requested votes for each answer


@dataclass(frozen=True, slots=True)
class FileDefinition:
    """The definition of a benchmark whose rows come from a file.

    >>> from lumos_queue.benchmarks.from_file.definition import FieldNames, FileDefinition
    >>> FileDefinition("capitals", FieldNames("question", ("answer",)), "exact").name
    'file:capitals'
    """

    title: str  #: letters, digits and `._-`
    fields: FieldNames
    scorer: str  #: number, exact, includes, f1, choice, yes_no, regex:PATTERN or judge; '': answers are not judged
    domain: str = "complex_qa"
    licence: str = UNKNOWN_LICENCE
    judge: JudgeDefinition | None = field(default=None)
    answer_form: str = ""  #: how answers name choices (row_choices.py); '': there are no choices

    @property
    def name(self) -> str:
        """The stored name of this benchmark in jobs and rows."""
        return f"{PREFIX}{self.title}"

    def as_json(self) -> dict[str, Any]:
        """Return the definition for the spec of a job."""
        value = asdict(self)
        value["fields"]["answers"] = list(self.fields.answers)
        if self.judge is None:
            del value["judge"]
        if not self.answer_form:
            del value["answer_form"]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FileDefinition:
        """Read the JSON of `as_json`. Raises KeyError and TypeError for a damaged value."""
        fields = {**value["fields"], "answers": tuple(value["fields"]["answers"])}
        judge = JudgeDefinition(**value["judge"]) if value.get("judge") else None
        return cls(**{**value, "fields": FieldNames(**fields), "judge": judge})


def is_file_benchmark(name: str) -> bool:
    """Whether a stored name is the name of a file's benchmark."""
    return name.startswith(PREFIX)


def make_title(text: str) -> str:
    """Make a title from a text, such as a file's name without its ending. Raises SpecError if the title is empty.

    >>> from lumos_queue.benchmarks.from_file.definition import make_title
    >>> make_title("my questions (new)")
    'my-questions-new'
    """
    title = _NOT_IN_TITLE.sub("-", text).strip("-")[:MAX_TITLE]
    if not title:
        raise SpecError(f"'{text[:40]}' has no letter or digit for a title: give a title that has some with --title.")
    return title
