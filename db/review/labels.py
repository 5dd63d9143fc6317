"""Labels: people's opinions of episodes and steps. Rows are never changed; a person's newest label counts.

A rating, from 1 to 10, is a label of a whole episode. A person's newest rating and newest other label both count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, insert, select

from db.engine.connection import Database, now
from db.journal.step_records import RecordedStep, select_annotated_steps
from db.models import Item, Label
from db.review.remaining_labels import count_labels_left, lock_audit
from db.review.web_actions import PersonAction
from lumos_queue.errors import SpecError, unknown
from lumos_queue.records import Action, Subgoal
from lumos_queue.util.sanitize import storable

VALUES = ("right", "wrong", "unsure")
RATINGS = tuple(map(str, range(1, 11)))
#: The number of a rating. A cast would fail on PostgreSQL for other labels.
RATING: ColumnElement[int | None] = case({rating: int(rating) for rating in RATINGS}, value=Label.value)
#: What is wrong in an annotation: an operand is not the value that the row means, a number is in neither question nor
#: row, a subgoal describes another step, a result is wrong, or a text cannot be understood.
KINDS = ("link", "number", "sub-question", "result", "wording")
MAX_NAME = 200  #: of a labeller's name
_PLACE = re.compile(
    r"(?P<subgoal>[0-9]{1,6})(?:-(?P<action>[0-9]{1,6}))?|@(?P<position>[0-9]{1,9})(?:\.(?P<branch>[0-9]{1,9}))?"
)


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to store: of an episode (its key) or, with a position, of one of its steps."""

    episode: int
    value: str  #: one of VALUES; of a whole episode also one of RATINGS
    labeller: str
    note: str = ""
    position: int | None = None
    branch: int | None = None
    audit: str | None = None
    wrong_position: int | None = None  #: the wrong step, for a label `wrong` of the whole episode
    wrong_branch: int | None = None
    wrong_kind: str = ""  #: one of KINDS, for a label `wrong`; '' if the person names none


class NewestLabel(NamedTuple):
    """A person's newest label of an episode in an audit, with the wrong step and the kind of fault that it names."""

    value: str
    note: str
    wrong_position: int | None = None
    wrong_branch: int | None = None
    wrong_kind: str = ""


def add_labels(
    database: Database, labels: Sequence[NewLabel], action: PersonAction | None = None, detail: str = ""
) -> None:
    """Store all labels, or none. `action` and its detail are recorded with the labels, if there are any.

    Raises SpecError for an unknown value or kind, for an invalid name of a labeller, and for a step or kind of a label
    that is not `wrong`.
    """
    for label in labels:
        check_fault(label.value, label.wrong_kind, label.wrong_position is not None)
        check(label.value, label.labeller, VALUES if label.position is not None or label.audit else (*VALUES, *RATINGS))
    if not labels:
        return
    of_audits: dict[str, set[int]] = {}
    for label in labels:
        if label.audit:
            of_audits.setdefault(label.audit, set()).add(label.episode)
    with database.writer.begin() as connection:
        for audit in sorted(of_audits):
            lock_audit(connection, audit)
        insert_labels(connection, labels)
        if action:
            action.record(connection, detail)
        for audit, episodes in of_audits.items():
            count_labels_left(connection, audit, sorted(episodes))


def insert_labels(connection: Connection, labels: Sequence[NewLabel]) -> None:
    """Store labels that were checked. The same transaction must then call `count_labels_left` for labels of audits."""
    rows = [
        asdict(label) | {"note": storable(label.note)[0], "labeller": storable(label.labeller)[0]} for label in labels
    ]
    connection.execute(insert(Label).values(labelled_at=now()), rows)


def labels_of(connection: Connection, episode: int) -> list[Any]:
    """Return each person's newest label and newest rating of the episode, then the newest labels of its steps."""
    newest: dict[tuple[Any, ...], Any] = {}
    for row in connection.execute(select(Label.__table__).where(Label.episode == episode).order_by(Label.id)):
        newest[row.labeller, row.position, row.branch, row.value in RATINGS] = row
    return sorted(newest.values(), key=lambda row: (row.position is not None, row.position, row.branch, row.id))


def newest_of_audit(connection: Connection, audit: str) -> dict[tuple[int, str], NewestLabel]:
    """Return each person's newest label of each episode in the audit, by (episode, person)."""
    columns = (getattr(Label, name) for name in NewestLabel._fields)
    rows = connection.execute(
        select(Label.episode, Label.labeller, *columns)
        .where(Label.audit == audit, Label.position.is_(None))
        .order_by(Label.id)
    )
    return {(episode, labeller): NewestLabel(*label) for episode, labeller, *label in rows}


def new_labels(connection: Connection, labels: Sequence[NewLabel]) -> list[NewLabel]:
    """Return the labels that differ from the person's newest label in the audit, as a file may be imported twice."""
    newest_labels: dict[str, dict[tuple[int, str], NewestLabel]] = {}
    additions = []
    for label in labels:
        audit = label.audit or ""
        if audit not in newest_labels:
            newest_labels[audit] = newest_of_audit(connection, audit)
        opinion = NewestLabel(
            label.value, storable(label.note)[0], label.wrong_position, label.wrong_branch, label.wrong_kind
        )
        who = label.episode, storable(label.labeller)[0]
        if newest_labels[audit].get(who) != opinion:
            newest_labels[audit][who] = opinion
            additions.append(label)
    return additions


def newest_ratings(connection: Connection, job: str) -> list[tuple[int, str, int]]:
    """Return (episode, person, rating) for each person's newest rating of each of the job's episodes."""
    ratings: dict[tuple[int, str], int] = {}
    rows = connection.execute(
        select(Label.episode, Label.labeller, Label.value)
        .join(Item, Item.id == Label.episode)
        .where(Item.job == job, Label.value.in_(RATINGS))
        .order_by(Label.id)
    )
    for episode, labeller, value in rows:
        ratings[episode, labeller] = int(value)
    return [(episode, labeller, value) for (episode, labeller), value in sorted(ratings.items())]


def check(value: str, labeller: str, values: Sequence[str] = VALUES) -> None:
    """Raise SpecError unless `value` is one of `values` and `labeller` a person's name."""
    if value not in values:
        raise unknown("label", value, values)
    if not labeller.strip() or len(labeller) > MAX_NAME:
        raise SpecError(f"'{labeller[:40]}' is not the name of a labeller: expected 1 to {MAX_NAME} characters.")


def check_fault(value: str, kind: str, has_step: bool) -> None:
    """Raise SpecError for an unknown kind of fault, and for a kind or a step of a label that is not `wrong`."""
    if kind and kind not in KINDS:
        raise unknown("kind of fault", kind[:40], KINDS)
    if (kind or has_step) and value != "wrong":
        raise SpecError(f"Only the label wrong names a step or a kind of fault: the label is '{value[:40]}'.")


def locate_step(steps: Sequence[RecordedStep], text: str) -> tuple[int, int]:
    """Return (position, branch) of the step that a person names.

    `2` names the second subgoal, `2-1` its first action, and `@9.1` the step at position 9, branch 1. Subgoals and
    actions are those of the annotation; a teacher's earlier tries have names by position only. Raises SpecError when
    there is no such step.
    """
    match = _PLACE.fullmatch(text)
    if not match:
        raise SpecError(
            f"'{text}' names no step: expected 2 (a subgoal), 2-1 (its first action) or @9 (the step at position 9)."
        )
    if match["position"]:
        location = int(match["position"]), int(match["branch"] or 0)
        if not any((step.position, step.branch) == location for step in steps):
            raise SpecError(f"The episode has no step at position {text[1:]}: its steps are @0 to @{_last(steps)}.")
        return location
    number, action = int(match["subgoal"]), int(match["action"] or 0)
    own_steps = select_annotated_steps(steps)
    starts = [index for index, step in enumerate(own_steps) if isinstance(step.detail, Subgoal)]
    if not 1 <= number <= len(starts):
        raise SpecError(f"The episode has no subgoal {number}: it has {len(starts)}.")
    start, end = starts[number - 1], [*starts, len(own_steps)][number]
    actions = [step for step in own_steps[start:end] if isinstance(step.detail, Action)]
    if match["action"] and not 1 <= action <= len(actions):
        raise SpecError(
            f"Subgoal {number} has no action {action}: it has {len(actions)}. To name a step by position: @0, @1, …"
        )
    step = actions[action - 1] if match["action"] else own_steps[start]
    return step.position, step.branch


def name_of_step(steps: Sequence[RecordedStep], position: int, branch: int) -> str:
    """Return the name of the step at this position and branch, as `locate_step` reads it."""
    subgoal = action = 0
    for step in select_annotated_steps(steps):
        if isinstance(step.detail, Subgoal):
            subgoal, action = subgoal + 1, 0
        elif isinstance(step.detail, Action) and subgoal:
            action += 1
        else:
            continue
        if (step.position, step.branch) == (position, branch):
            return f"{subgoal}-{action}" if action else str(subgoal)
    return f"@{position}.{branch}" if branch else f"@{position}"


def name_steps(steps: Sequence[RecordedStep]) -> list[tuple[str, Subgoal | Action]]:
    """Return (name, step) of each subgoal and action of the annotation, in order."""
    return [
        (name_of_step(steps, step.position, step.branch), step.detail)
        for step in select_annotated_steps(steps)
        if isinstance(step.detail, Subgoal | Action)
    ]


def _last(steps: Sequence[RecordedStep]) -> int:
    return max((step.position for step in steps), default=0)
