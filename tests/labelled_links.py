"""Reads the labels of links in GSM8K's first 300 test rows, and compares them with the gold programs.

A reader of question and rationale made the labels, and saw the chosen links. `tests/unit/gsm8k_links.jsonl` has a label
for each operand that equals an earlier result and may have another source:

- row, line: numbers from 0, of the row in the file and of the line in its rationale.
- step: the number of the action from 1, by the rules of version 1; result: its value.
- value: the operand. A label applies to all operands of the action with this value.
- equal: the earlier results with this value.
- chosen, right: the sources of the operands, from left to right. `question` is any number that is not a result.
- verdict: whether the chosen sources are right. `a + a` is right in either order.
- group: `literal` (48 rows: an operand may be a number of the question or a constant), `note` (27 rows that only the
  note `ambiguous link` names, because of equal results or of constants in other lines), or `unused`.

A label of the group `unused` is about a result that no later action uses. `right` names the action that needs it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Literal

from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.notation import variables_in
from lumos_queue.records import AnnotatedSubgoal, Task
from lumos_queue.scoring.numeric import read_number

ROWS = 300  #: of the file were read
_FILE = Path(__file__).parent / "unit" / "gsm8k_links.jsonl"
_OPERAND = re.compile(r"R[0-9]+|[0-9]+(?:\.[0-9]+)?")

#: `waiting`: the rules accept no program of the row; `changed`: the program has no such action, or other equal results.
Finding = Literal["right", "wrong", "waiting", "changed"]


@dataclass(frozen=True, slots=True)
class Label:
    """A reader's judgement on the sources of an action's operands. The fields are described above."""

    row: int
    step: int
    line: int
    value: str
    result: str
    group: Literal["literal", "note", "unused"]
    equal: Sequence[str]
    chosen: Sequence[str]
    right: Sequence[str]
    verdict: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """An action of a program."""

    name: str
    arguments: str
    result: Fraction | None
    operands: Sequence[tuple[str, Fraction | None]]  #: source and value of each operand


def read_labels() -> list[Label]:
    return [Label(**json.loads(line)) for line in _FILE.read_text(encoding="utf-8").splitlines()]


def read_labelled_tasks(path: Path) -> dict[int, Task]:
    """Return the tasks of the labelled rows of `test.jsonl`, by row from 0."""
    rows = {label.row for label in read_labels()}
    tasks: dict[int, Task] = {}
    for row, task in enumerate(islice(GSM8K().read(path, "test"), ROWS)):
        if row in rows:
            assert not isinstance(task, BadRow), task
            tasks[row] = task
    return tasks


def compare(source: GSM8K, tasks: Mapping[int, Task]) -> list[tuple[Label, Finding]]:
    """Return each label with what the source's rules do with its operand."""
    programs: dict[int, Sequence[Step]] = {}
    for row, task in tasks.items():
        try:
            programs[row] = list_steps(source.annotation(task).steps)
        except SpecError:
            programs[row] = ()
    return [(label, judge(label, programs[label.row])) for label in read_labels()]


def judge(label: Label, program: Sequence[Step]) -> Finding:
    """Return whether the program takes the operand from its right source. It is `waiting` if the program is empty."""
    if not program:
        return "waiting"
    matches = [
        (abs(position - label.step), position)
        for position, step in enumerate(program, start=1)
        if step.result == Fraction(label.result) and len(_sources(label, step)) == len(label.chosen)
    ]
    if not matches:
        return "changed"
    position = min(matches)[1]
    step, earlier, later = program[position - 1], program[: position - 1], program[position:]
    if label.group == "unused":
        return "right" if any(step.name in variables_in(action.arguments) for action in later) else "wrong"
    equal = [action.name for action in earlier if action.result == Fraction(label.value)]
    if len(equal) != len(label.equal):
        return "changed"
    names = dict(zip(equal, label.equal, strict=True))
    sources = [names.get(source, "question") for source in _sources(label, step)]
    if any(sign in step.arguments for sign in "-/"):
        return "right" if sources == list(label.right) else "wrong"
    return "right" if sorted(sources) == sorted(label.right) else "wrong"


def _sources(label: Label, step: Step) -> list[str]:
    """Return the sources of the operands that the label is about; none for a label about an unused result."""
    if label.group == "unused":
        return []
    return [source for source, value in step.operands if value == Fraction(label.value)]


def list_steps(subgoals: Iterable[AnnotatedSubgoal]) -> list[Step]:
    """Return the actions of an annotation with the source and the value of each operand."""
    values: dict[str, Fraction | None] = {}
    steps: list[Step] = []
    for subgoal in subgoals:
        for action, result in zip(subgoal.actions, subgoal.results, strict=True):
            operands = [
                (text, values[text] if text in values else read_number(text))
                for text in _OPERAND.findall(action.arguments)
            ]
            values[action.variables[0]] = read_number(result)
            steps.append(Step(action.variables[0], action.arguments, read_number(result), operands))
    return steps


@dataclass(frozen=True, slots=True)
class NoteFigures:
    """How well the note `ambiguous link` finds the rows that have a false step."""

    noted: int  #: rows with the note
    false: int  #: rows with a false link or an unused result
    both: int


def count_notes(
    source: GSM8K, tasks: Mapping[int, Task], findings: Iterable[tuple[Label, Finding]], groups: Sequence[str]
) -> NoteFigures:
    """Count the rows of some groups of labels. Rows that wait have no note, and are not false."""
    findings = [(label, finding) for label, finding in findings if label.group in groups]
    rows = {label.row for label, _ in findings}
    noted_rows = {row for row in rows if source.count_ambiguous(tasks[row])}
    false_rows = {label.row for label, finding in findings if finding == "wrong"}
    return NoteFigures(len(noted_rows), len(false_rows), len(noted_rows & false_rows))


def describe(source: GSM8K, tasks: Mapping[int, Task]) -> str:
    """Return the figures as lines of text, for a reader."""
    findings = compare(source, tasks)
    lines = []
    for groups in (("literal",), ("note",), ("unused",), ("literal", "unused"), ("literal", "note", "unused")):
        count = Counter(finding for label, finding in findings if label.group in groups)
        notes = count_notes(source, tasks, findings, groups)
        lines.append(
            f"{' + '.join(groups)}: labels {dict(count)}; rows noted {notes.noted}, false {notes.false}, "
            f"both {notes.both}"
        )
    return "\n".join(lines)
