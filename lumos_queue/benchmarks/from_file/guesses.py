"""Guess the fields and the scorer of a file from its first rows.

A field is guessed only if it is the only field with a usual name, because a wrong guess would silently score another
field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.benchmarks.from_file.cells import cell_of, describe, write_scalar
from lumos_queue.benchmarks.from_file.definition import FieldNames
from lumos_queue.benchmarks.from_file.row_choices import WORDS, Choices, choose_form, columns_of, read_choices
from lumos_queue.benchmarks.from_file.row_tasks import read_answers
from lumos_queue.benchmarks.from_file.scorers import NAMES
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.scoring.numeric import read_number
from lumos_queue.util.sanitize import storable

SAMPLE = 1_000  #: rows that are examined
MAX_LISTED = 8  #: fields that a message lists
MAX_NAME = 40  #: characters of a field's name in a message
USUAL: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "query"),
    "answer": ("answer", "target", "output", "label"),
    "choices": ("choices", "options"),
    "rationale": ("rationale",),
}
GUESSED = tuple(USUAL)
#: Names of rationales in rows that are read to teach; in other rows, these are ordinary columns.
RATIONALES = (*USUAL["rationale"], "solution", "explanation")
_TRUTH = frozenset(("yes", "no", "true", "false"))


@dataclass(frozen=True, slots=True)
class Sample:
    """The first readable rows of a file, with their numbers. `name`: the file's name in messages."""

    name: str
    rows: Sequence[tuple[int, Mapping[str, Any]]]

    @property
    def fields(self) -> list[str]:
        """The fields of all these rows, in order of appearance."""
        return list(dict.fromkeys(field for _, record in self.rows for field in record))


@dataclass(frozen=True, slots=True)
class Scoring:
    """A scorer that fits all answers, the form in which answers name choices, and the evidence for both."""

    scorer: str
    answer_form: str = ""
    evidence: str = ""


def guess_fields(
    sample: Sample,
    field_names: FieldNames,
    *,
    needs_answers: bool,
    needs_rationales: bool = False,
    only: Sequence[str] = GUESSED,
) -> FieldNames:
    """Return the fields of the rows: those in `field_names`, and guesses by usual names for the others.

    `needs_answers` and `needs_rationales`: whether the rows must have these fields; `only`: the fields to guess. Raises
    SpecError if no row has a field of `field_names`, if a field has two candidates, or if a required field has none.
    """
    fields, usual = sample.fields, {**USUAL, "rationale": RATIONALES if needs_rationales else USUAL["rationale"]}
    _check_names(sample, fields, field_names)
    used_names = {field_names.question, field_names.id, field_names.images, field_names.rationale, *field_names.answers}
    if field_names.choices:
        used_names |= {field_names.choices, *field_names.choices.split(",")}

    def guess(field: str, *, is_required: bool) -> str:
        if field not in only:
            return ""
        matches = [name for name in fields if name.strip().casefold() in usual[field] and name not in used_names]
        if len(matches) > 1:
            raise SpecError(
                f"'{sample.name}' has {len(matches)} fields that may be the {field}: {list_names(matches)}. Name the "
                f"field with --{field}."
            )
        if not matches and is_required:
            raise SpecError(
                f"'{sample.name}' has no {field}: expected a field called {' or '.join(usual[field])}. It has: "
                f"{list_names(fields)}. Name the field with --{field}."
            )
        used_names.update(matches)
        return matches[0] if matches else ""

    question = field_names.question or guess("question", is_required=True)
    answers = field_names.answers
    if not answers and (answer := guess("answer", is_required=needs_answers)):
        answers = (answer,)
    return replace(
        field_names,
        question=question,
        answers=answers,
        choices=field_names.choices or _check_choices(sample, guess("choices", is_required=False)),
        rationale=field_names.rationale or guess("rationale", is_required=needs_rationales),
    )


def _check_choices(sample: Sample, field: str) -> str:
    """Return the field if at least one row has choices in it; '' if it is an ordinary column."""
    for row, record in sample.rows if field else ():
        try:
            read_choices(record, row, field)
        except BadRow:
            continue
        return field
    return ""


def _check_names(sample: Sample, fields: Sequence[str], field_names: FieldNames) -> None:
    """Raise SpecError if no row has a field of `field_names`, or if two options name the same field."""
    options = [
        ("question", field_names.question),
        *(("answer", name) for name in field_names.answers),
        ("id", field_names.id),
    ]
    options += [("images", field_names.images), ("rationale", field_names.rationale)]
    if field_names.choices:
        options += [("choices", name) for name in columns_of(field_names.choices, dict.fromkeys(fields))]
    uses: dict[str, str] = {}
    for option, name in options:
        if not name:
            continue
        if name not in fields:
            raise SpecError(
                f"'{sample.name}' has no field '{storable(name)[0][:40]}', which --{option} names. It has: "
                f"{list_names(fields)}."
            )
        if name in uses:
            raise SpecError(
                f"--{uses[name]} and --{option} both name the field '{name[:40]}': name a different field for each."
            )
        uses[name] = option


def guess_scoring(sample: Sample, fields: FieldNames) -> Scoring | str:
    """Return the scorer that fits all answers of the sample, or the reason why none fits."""
    answers = [(row, value) for row, record in sample.rows for _, value in read_answers(record, fields.answers)]
    if not answers:
        return "no row has an answer"
    all_answers = f"{len(answers):,} of {len(answers):,} answers"
    if fields.choices:
        scoring = find_form(sample, fields)
        if scoring.evidence.startswith(all_answers):
            return scoring
        return f"{scoring.evidence}"
    texts = [(row, write_scalar(value) or "") for row, value in answers]
    odd = [next(((row, text) for row, text in texts if not fits(text)), None) for fits in (_is_truth, _is_number)]
    if odd[0] is None:
        return Scoring("yes_no", evidence=f"{all_answers} are yes or no")
    if odd[1] is None:
        return Scoring("number", evidence=f"{all_answers} are numbers")
    row, text = max(odd[0], odd[1])
    return f"its answers are not all numbers, nor all yes or no (row {row}: {describe(text)}), and it has no choices"


def find_form(sample: Sample, fields: FieldNames) -> Scoring:
    """Return the scorer `choice` with the form that fits most answers. Raises SpecError as `choose_form`."""
    rows: list[tuple[int, str, Choices]] = []
    for row, record in sample.rows:
        try:
            choices = read_choices(record, row, fields.choices)
        except BadRow:  # reported when all rows are read
            continue
        rows += [(row, write_scalar(value) or "", choices) for _, value in read_answers(record, fields.answers)]
    form, match_count, count = choose_form(rows)
    return Scoring("choice", form, f"{match_count:,} of {count:,} answers are {WORDS[form]} of choices")


def require_scorer(sample: Sample, reason: str) -> SpecError:
    """Return the error that asks the user for a scorer. `reason`: why none can be guessed."""
    return SpecError(f"'{sample.name}' needs a scorer: {reason}. Choose one with --scorer: {', '.join(NAMES)}.")


def list_names(names: Sequence[str]) -> str:
    """Return the names of fields for a message: at most MAX_LISTED names, each truncated to MAX_NAME characters."""
    visible_names = [" ".join(storable(str(name))[0].split())[:MAX_NAME] for name in names[:MAX_LISTED]]
    suffix = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return (", ".join(visible_names) or "none") + suffix


def describe_fields(fields: FieldNames) -> str:
    """Return the fields as text for a message: `question=problem, answer=solution`."""
    pairs = [("question", fields.question), *(("answer", name) for name in fields.answers), ("id", fields.id)]
    pairs += [("choices", fields.choices), ("images", fields.images), ("rationale", fields.rationale)]
    return ", ".join(f"{field}={list_names([name])}" for field, name in pairs if name)


def has_answers(sample: Sample, fields: FieldNames) -> bool:
    """Whether every row of the sample has an answer."""
    return all(any(cell_of(record, name) is not None for name in fields.answers) for _, record in sample.rows)


def _is_truth(text: str) -> bool:
    return text.casefold().rstrip(".") in _TRUTH


def _is_number(text: str) -> bool:
    return read_number(text) is not None
