"""Precision and recall of the readers of answers, on real replies that a person has labelled.

    python -m performance.answer_readers replies.jsonl labels.jsonl [--errors]

Lines of JSON. A reply has `id`, `kind` (number, choice, yes_no, text), `reply`, `finish_reason`, and `choices` and
`group` where they apply: a `short` reply was asked for the answer alone (direct), any other for reasons (cot).
A label has the same `id`, `label` (null: the reply states no answer) and `also`, further readings that are fair.

An answer that a reader gives counts as the scorers read it: text that is no number, no choice, no yes or no is none.
Precision: of the answers given, those that are right. Recall: of the replies with an answer, those that are read right.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.prompts.answer_reading import Phrase
from lumos_queue.prompts.single_model import read_cot_answer
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import AnswerReader, Expected, read_flexible
from lumos_queue.scoring.letters import LETTERS, read_choice
from lumos_queue.scoring.numeric import read_number
from lumos_queue.scoring.spans import normalize, read_answer
from lumos_queue.scoring.statistics import wilson
from lumos_queue.scoring.yes_no import read_yes_no


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader made of a labelled reply."""

    id: str
    kind: AnswerKind
    value: Any  #: as the scorers read it; None: no answer
    label: Any  #: None: the reply states no answer
    also: tuple[Any, ...] = ()

    @property
    def is_right(self) -> bool:
        return self.value is not None and (self.value == self.label or self.value in self.also)

    @property
    def is_fair(self) -> bool:
        """Whether it is a reading that a person may have, also of a reply without an answer."""
        return self.value == self.label or self.value in self.also


def read_value(answer: str | None, kind: AnswerKind, choices: Sequence[str]) -> Any:
    """Return an answer as the scorers of that kind read it; None where they read none."""
    if answer is None:
        return None
    match kind:
        case AnswerKind.NUMBER:
            return read_number(answer)
        case AnswerKind.CHOICE:
            index = read_choice(answer, choices)
            return None if index is None else LETTERS[index]
        case AnswerKind.YES_NO:
            return read_yes_no(answer)
        case AnswerKind.TEXT:
            return normalize(read_answer(answer)) or None


def read_reply(row: dict[str, Any], label: dict[str, Any], reader: AnswerReader) -> Reading:
    """Return what a reader makes of a reply."""
    kind, choices = AnswerKind(row["kind"]), tuple(row.get("choices") or ())
    if reader == AnswerReader.FLEXIBLE:
        answer = read_flexible(row["reply"], Expected(kind, choices), row["finish_reason"] == "length")
    else:
        phrase: Phrase = str.strip if row.get("group") == "short" else read_cot_answer
        answer = phrase(row["reply"]) or None
    also = tuple(read_value(alternative, kind, choices) for alternative in label.get("also", ()))
    return Reading(row["id"], kind, read_value(answer, kind, choices), read_value(label["label"], kind, choices), also)


def summarize(readings: Iterable[Reading]) -> dict[str, tuple[int, int]]:
    """Return right answers and their number, by `precision` and `recall`."""
    readings = list(readings)
    right = sum(reading.is_right for reading in readings)
    answer_count = sum(reading.value is not None for reading in readings)
    label_count = sum(
        reading.label is not None and not (reading.value is None and reading.is_fair) for reading in readings
    )
    extra = sum(reading.label is None and reading.is_right for reading in readings)
    return {"precision": (right, answer_count), "recall": (right - extra, label_count)}


def _format_share(right: int, of: int) -> str:
    if not of:
        return f"{'–':>24}"
    low, high = wilson(right, of)
    return f"{right:>3} of {of:>3} {100 * right / of:5.1f} [{100 * low:.0f}, {100 * high:.0f}]".rjust(26)


def main() -> None:
    """Print a table for each reader, and with --errors each reading that is not right."""
    files = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(files) != 2:
        sys.exit(__doc__)
    rows, labels = ([json.loads(line) for line in Path(file).read_text().splitlines() if line] for file in files)
    by_id = {label["id"]: label for label in labels}
    for reader in AnswerReader:
        readings = [read_reply(row, by_id[row["id"]], reader) for row in rows]
        groups = {"all": readings} | {
            kind: [reading for reading in readings if reading.kind == kind] for kind in AnswerKind
        }
        print(f"{reader:<10}{'precision %, 95 %':>26}{'recall %, 95 %':>26}")
        for name, group in groups.items():
            shares = summarize(group)
            print(f"  {name:<8}{_format_share(*shares['precision'])}{_format_share(*shares['recall'])}")
        for reading in readings if "--errors" in sys.argv else ():
            if not reading.is_fair:
                print(f"    {reading.id} {reading.kind}: read {reading.value}, labelled {reading.label}")


if __name__ == "__main__":
    main()
