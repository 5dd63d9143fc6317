"""Options that describe a person's own rows, from the command line, a program or a settings file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError, unknown
from lumos_queue.submission.judge_options import JudgeOptions, read_rubric
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.util.runtime_types import has_type, is_sequence

FIELDS = ("question", "answer", "id", "choices", "images", "rationale")  #: options that name a field of a row
NO_JUDGE = JudgeOptions()


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options that describe a person's own file. For '' and (), the value is guessed or is a default."""

    question: str = ""
    answer: Sequence[str] = ()
    id: str = ""
    choices: str = ""
    images: str = ""
    rationale: str = ""
    scorer: str = ""
    domain: str = ""
    licence: str = ""
    title: str = ""
    judge: JudgeOptions = NO_JUDGE

    @property
    def option_names(self) -> list[str]:
        """The names of the options that have a value."""
        names = [field.name for field in fields(self) if field.name != "judge" and getattr(self, field.name)]
        return names + self.judge.option_names


def read_request_options(request: InferenceRequest) -> FileOptions:
    """Return the options of a request that describe a person's own file. Raises SpecError for an unreadable rubric."""
    values = {field.name: getattr(request, field.name) for field in fields(FileOptions) if field.name != "judge"}
    judge = JudgeOptions(request.judge, read_rubric(request.rubric), request.grades, request.votes)
    return FileOptions(**values, judge=judge)


def read_file_options(
    field_names: Mapping[str, Any] | None, texts: Mapping[str, Any], judge: JudgeOptions = NO_JUDGE
) -> FileOptions:
    """Return the options from a program or a settings file. Raises SpecError for an unknown field and for no text."""
    values: dict[str, Any] = read_row_fields(field_names)
    values |= {name: _check_text(name, value) for name, value in texts.items()}
    return FileOptions(**values, judge=judge)


def read_row_fields(field_names: Mapping[str, Any] | None) -> dict[str, str | tuple[str, ...]]:
    """Return the options that name the fields of a row. Raises SpecError for an unknown field and for no text."""
    if field_names is not None and not has_type(field_names, Mapping):
        raise SpecError(f"fields is {field_names!r:.80}: expected a mapping such as {{'question': 'prompt'}}.")
    values: dict[str, str | tuple[str, ...]] = {}
    for name, value in (field_names or {}).items():
        if name not in FIELDS:
            raise unknown("field of a row", str(name), FIELDS)
        if name == "answer" and is_sequence(value):
            values[name] = tuple(_check_text(name, answer) for answer in value)
        else:
            text = _check_text(name, value)
            values[name] = (text,) if name == "answer" and text else text
    return values


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} is {value!r:.80}: expected a text.")
    return value


def read_judge_options(url: Any, rubric: Any, grades: Any, votes: Any) -> JudgeOptions:
    """Return the judge's options from a program or a settings file. `rubric`: the path of the template; '': none.

    Raises SpecError for a value of a wrong type, and for a template that cannot be read.
    """
    for name, value in (("grades", grades), ("votes", votes)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise SpecError(f"{name} is {value!r:.80}: expected a whole number.")
    path = str(rubric) if isinstance(rubric, Path) else _check_text("rubric", rubric)
    return JudgeOptions(_check_text("judge", url), read_rubric(path or None), grades, votes)
