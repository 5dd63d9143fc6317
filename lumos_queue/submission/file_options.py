"""What a person states about their own rows, by the command line, a program or a settings file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lumos_queue.errors import SpecError, unknown

FIELDS = ("question", "answer", "id", "choices", "images", "rationale")  #: options that name a field of a row


@dataclass(frozen=True, slots=True)
class FileOptions:
    """What a person states about their own file; '' and (): it is guessed, or has a default."""

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

    @property
    def stated(self) -> list[str]:
        """The names of the options that are not left out."""
        return [one.name for one in fields(self) if getattr(self, one.name)]


def read_file_options(field_names: Mapping[str, Any] | None, others: Mapping[str, Any]) -> FileOptions:
    """Return the options that a program or a settings file gives. Raises SpecError for what is not a text."""
    if field_names is not None and not isinstance(field_names, Mapping):
        raise SpecError(f"fields is {field_names!r:.80}: expected a mapping such as {{'question': 'prompt'}}.")
    values: dict[str, Any] = {}
    for name, value in (field_names or {}).items():
        if name not in FIELDS:
            raise unknown("field of a row", str(name), FIELDS)
        if name == "answer" and not isinstance(value, str) and isinstance(value, Sequence):
            values[name] = tuple(_check_text(name, one) for one in value)
        else:
            text = _check_text(name, value)
            values[name] = (text,) if name == "answer" and text else text
    return FileOptions(**{**values, **{name: _check_text(name, value) for name, value in others.items()}})


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} is {value!r:.80}: expected a text.")
    return value
