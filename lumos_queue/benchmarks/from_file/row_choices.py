"""Read the choices of a row, and find the choice that an answer names.

A field may have the choices as a list of texts; as `{"text": […], "label": […]}` or a list of such pairs, as in ARC and
OpenBookQA; as an object of label to text; or as a text: JSON, or choices separated by `|` or by line breaks. If each
choice has its own column, commas separate the columns' names: `--choices A,B,C,D`.

All answers of a file name choices in the same form: by text, label, letter, or index from 0 or from 1. The form that
fits most answers is used. If two forms fit equally and mean different choices, the user has to state the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.benchmarks.from_file.cells import cell_of, describe, read_list, write_scalar
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.scoring.letters import LETTERS

TEXT, LABEL, LETTER, INDEX_0, INDEX_1 = FORMS = ("text", "label", "letter", "index0", "index1")
OPTION = "answer_form"  #: of the reader: `--option answer_form=index1`
WORDS = {
    TEXT: "texts",
    LABEL: "labels",
    LETTER: "letters",
    INDEX_0: "numbers from 0",
    INDEX_1: "numbers from 1",
}
_LETTER = re.compile(r"\(?([A-Ha-h])[).:]?")
_INDEX = re.compile(r"[0-9]{1,2}")
_SEPARATORS = ("|", "\n")


@dataclass(frozen=True, slots=True)
class Choices:
    """The texts of a row's choices, and their labels if the file has labels."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()


def columns_of(names: str, record: Mapping[str, Any]) -> list[str]:
    """Return the columns that `--choices` names: the column of that name, or else the names between commas."""
    return [names] if names in record or "," not in names else [name.strip() for name in names.split(",")]


def read_choices(record: Mapping[str, Any], row: int, names: str) -> Choices:
    """Return the choices of a row, two to eight. Raises BadRow."""
    columns = columns_of(names, record)
    if len(columns) > 1:
        cells = [cell_of(record, name) for name in columns]
        while cells and cells[-1] is None:  # fewer choices than there are columns
            cells.pop()
        return _check(row, columns[0], cells, columns[: len(cells)])
    name = columns[0]
    value = cell_of(record, name)
    if value is None:
        raise BadRow(row, name, "empty" if name in record else "missing")
    cell = read_list(value)
    if isinstance(cell, dict):
        return _of_object(row, name, cell)
    choice_cells: list[Any] = _split(row, name, value) if cell is None else cell
    if choice_cells and all(isinstance(item, Mapping) for item in choice_cells):
        return _check(
            row, name, [item.get("text") for item in choice_cells], [item.get("label") for item in choice_cells]
        )
    return _check(row, name, choice_cells)


def _of_object(row: int, name: str, value: Mapping[str, Any]) -> Choices:
    texts, labels = value.get("text"), value.get("label")
    if isinstance(texts, list):
        return _check(row, name, texts, labels if isinstance(labels, list) else ())
    return _check(row, name, list(value.values()), list(value))


def _split(row: int, name: str, value: Any) -> list[str]:
    if isinstance(value, str):
        for separator in _SEPARATORS:
            if separator in value.strip():
                return [part for part in value.strip().split(separator) if separator != "\n" or part.strip()]
    raise BadRow(row, name, f"expected a list of choices, or choices separated by |, found {describe(value)}")


def _check(row: int, name: str, texts: Sequence[Any], labels: Sequence[Any] = ()) -> Choices:
    if not 2 <= len(texts) <= len(LETTERS):
        raise BadRow(row, name, f"{len(texts)} choices, expected 2 to {len(LETTERS)}")
    plain = []
    for number, value in enumerate(texts, start=1):
        text = write_scalar(value)
        if not text:
            raise BadRow(row, name, f"choice {number} is {describe(value) if value else 'empty'}, expected text")
        plain.append(" ".join(text.split()))
    marks = [write_scalar(label) or "" for label in labels]
    return Choices(tuple(plain), tuple(marks) if len(marks) == len(plain) and all(marks) else ())


def find_choice(answer: str, choices: Choices, form: str) -> int | None:
    """Return the index from 0 of the choice that an answer names in this form; None if it names no choice."""
    answer = " ".join(answer.split())
    if form == TEXT:
        return _find(answer, choices.texts)
    if form == LABEL:
        return _find(answer, choices.labels)
    if form == LETTER:
        match = _LETTER.fullmatch(answer)
        index = LETTERS.index(match[1].upper()) if match else -1
    else:
        index = int(answer) - (form == INDEX_1) if _INDEX.fullmatch(answer) else -1
    return index if 0 <= index < len(choices.texts) else None


def _find(answer: str, texts: Sequence[str]) -> int | None:
    if answer in texts:
        return texts.index(answer)
    same = [index for index, text in enumerate(texts) if text.casefold() == answer.casefold()]
    return same[0] if len({texts[index] for index in same}) == 1 else None


def choose_form(rows: Iterable[tuple[int, str, Choices]]) -> tuple[str, int, int]:
    """Return the form that fits most answers, the number of answers that it fits, and the number of answers.

    `rows` yields (row number, answer, choices). Raises SpecError if two forms fit equally and mean different choices.
    """
    rows = list(rows)
    meanings = {form: [find_choice(answer, choices, form) for _, answer, choices in rows] for form in FORMS}
    counts = {form: sum(index is not None for index in indices) for form, indices in meanings.items()}
    largest = max(counts.values(), default=0)
    best, *other_forms = [form for form in FORMS if counts[form] == largest]
    for form in other_forms if largest else ():
        for (row, answer, _), index, other_index in zip(rows, meanings[best], meanings[form], strict=True):
            if index != other_index:
                raise SpecError(
                    f"The answers can be read as {WORDS[best]} and as {WORDS[form]} of choices, but in row {row} "
                    f"({describe(answer)}) the choices differ: give --option {OPTION}={best} or --option "
                    f"{OPTION}={form}."
                )
    return best, largest, len(rows)
