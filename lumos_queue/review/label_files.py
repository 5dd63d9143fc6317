"""Read labels of an audit from a file: JSON lines, CSV with a header, or an export of Label Studio or Argilla.

    {"place": 3, "label": "wrong", "step": "2-1", "kind": "number", "note": "the text says 4 boxes", "as": "ann"}
    place,label,note

Each row names a place of the audit by its number (`place`) or by its episode (`episode`). The note and the labeller
(`as`) are optional, and so are the step and the kind of fault of a label `wrong`. A JSON list has tasks of Label Studio
(review.label_studio) or records of Argilla (review.argilla), which differ in their fields.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from db.queries.labels import VALUES
from db.review.audits import AuditSlot
from db.review.labels import MAX_NAME, NewLabel, check_fault
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.review import argilla, label_studio
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.untrusted_json import read_json

FIELDS = ("place", "episode", "label", "step", "kind", "note", "as")
#: Returns (position, branch) of the step that a text names in the episode with that key. Raises SpecError.
Locate = Callable[[int, str], tuple[int, int]]
MAX_BYTES = 64_000_000
MAX_PARTS = 1_000_000  #: lines, lists and objects of a file


def read_labels(path: Path, audit: str, samples: Sequence[AuditSlot], labeller: str, locate: Locate) -> list[NewLabel]:
    """Read the labels of a file. `labeller` counts as the labeller of rows that name none; `locate` finds their steps.

    Raises SpecError if the file cannot be read, and BadRow, which names the row and the field, for an invalid row.
    """
    try:
        data = read_regular(path, limit=MAX_BYTES)
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror}.") from None
    return parse_labels(data, str(path), audit, samples, labeller, locate)


def parse_labels(
    data: bytes, name: str, audit: str, samples: Sequence[AuditSlot], labeller: str, locate: Locate
) -> list[NewLabel]:
    """Read labels from the content of the file `name`. Raises SpecError and BadRow as `read_labels`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"'{name}' is not UTF-8 at byte {error.start}.") from None
    if max(text.count("\n"), text.count("[") + text.count("{")) > MAX_PARTS:
        raise SpecError(f"'{name}' has more than {MAX_PARTS:,} lines, lists or objects: it is not a file of labels.")
    by_place = {sample.number: sample for sample in samples}
    by_name = {sample.name: sample for sample in samples}
    labels = []
    for number, row in _rows(text, name, audit):
        label = _label(number, row, audit, by_place, by_name, labeller)
        labels.append(_with_fault(number, row, label, locate))
    return labels


def places_text(samples: Sequence[AuditSlot]) -> str:
    """Return a text about which numbers of places an audit has."""
    slots = [sample.number for sample in samples]
    if not slots:
        return "none: their jobs were removed"
    removed_count = max(slots) - len(slots)
    return f"{min(slots)} to {max(slots)}" + (
        ", without those removed together with their jobs" if removed_count else ""
    )


def _rows(text: str, name: str, audit: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if name.lower().endswith(".csv"):
        yield from _csv_rows(name, text)
        return
    if text.lstrip()[:1] == "[" and (rows := _read_list(text)) is not None:
        for number, row in enumerate(rows, start=1):
            yield from ((number, label) for label in _labels_of(number, row, audit))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = read_json(line)
        except ValueError as error:
            raise BadRow(number, "", f"is not JSON ({str(error)[:80]})") from None
        if not isinstance(row, dict):
            raise BadRow(number, "", "is not a JSON object")
        if unknown_names := row.keys() - set(FIELDS):
            raise BadRow(number, min(unknown_names), f"unknown field; expected {', '.join(FIELDS)}")
        yield number, row


def _read_list(text: str) -> list[Any] | None:
    """Return the list if the text is a single JSON list, otherwise None: JSON lines may also begin with '['."""
    try:
        document = read_json(text)
    except ValueError:
        return None
    return document if isinstance(document, list) else None


def _labels_of(number: int, row: Any, audit: str) -> Iterator[dict[str, Any]]:
    """Yield the labels of a task or a record as rows with FIELDS. Raises BadRow for any other row."""
    if not isinstance(row, dict):
        raise BadRow(number, "", "is not a JSON object")
    if label_studio.is_task(row):
        yield from label_studio.read_task(number, row, audit)
    elif argilla.is_record(row):
        yield from argilla.read_record(number, row, audit)
    else:
        raise BadRow(number, "", "is neither a task of Label Studio (data) nor a record of Argilla (fields, responses)")


def _csv_rows(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows with their numbers, from 1 after the header. Empty cells are left out."""
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    try:
        if unknown_columns := set(reader.fieldnames or ()) - set(FIELDS):
            raise SpecError(f"'{name}' has a column '{min(unknown_columns)}': expected {', '.join(FIELDS)}.")
        for number, row in enumerate(reader, start=1):
            if None in row:
                raise BadRow(number, "", "more cells than the header has columns")
            yield number, {field: value for field, value in row.items() if value}
    except csv.Error as error:
        raise SpecError(f"'{name}' is not CSV: {error}.") from None


def _label(
    number: int,
    row: dict[str, Any],
    audit: str,
    by_place: dict[int, AuditSlot],
    by_name: dict[str, AuditSlot],
    who: str,
) -> NewLabel:
    for name in ("label", "step", "kind", "note", "as", "episode"):
        if name in row and not isinstance(row[name], str):
            raise BadRow(number, name, f"'{str(row[name])[:40]}' is not text")
    if row.get("label") not in VALUES:
        raise BadRow(number, "label", f"'{str(row.get('label', ''))[:40]}': expected {', '.join(VALUES)}")
    who = row.get("as", who)
    if not who.strip() or len(who) > MAX_NAME:
        raise BadRow(number, "as", f"'{who[:40]}' is not a valid name of a labeller")
    if ("place" in row) == ("episode" in row):
        raise BadRow(number, "place", "give either a place or an episode")
    if "place" in row:
        sample = by_place.get(_parse_place(row["place"]))
        if sample is None:
            slots = places_text(list(by_place.values()))
            raise BadRow(number, "place", f"'{str(row['place'])[:40]}': the audit's places are {slots}")
    else:
        sample = by_name.get(row["episode"])
        if sample is None:
            raise BadRow(number, "episode", f"'{row['episode'][:40]}' is not in the audit '{audit}'")
    return NewLabel(sample.episode, row["label"], who, row.get("note", ""), audit=audit)


def _with_fault(number: int, row: dict[str, Any], label: NewLabel, locate: Locate) -> NewLabel:
    """Return the label with the wrong step and the kind of fault that the row names. Raises BadRow."""
    step, kind = row.get("step", "").strip(), row.get("kind", "")
    try:
        check_fault(label.value, kind, bool(step))
    except SpecError as error:
        raise BadRow(number, "kind" if kind else "step", str(error)) from None
    try:
        position, branch = locate(label.episode, step[:100]) if step else (None, None)
    except SpecError as error:
        raise BadRow(number, "step", str(error)) from None
    return replace(label, wrong_position=position, wrong_branch=branch, wrong_kind=kind)


def _parse_place(value: Any) -> int:
    """Return the number of a place from a value of JSON or CSV; 0, which no place has, for an invalid value."""
    text = str(value)
    return int(text) if not isinstance(value, bool) and text.isascii() and text.isdecimal() and len(text) < 10 else 0
