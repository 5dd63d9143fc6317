"""Plans that wait for a person, and the person's answers. Only the first answer to a plan counts."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update

from db.engine.conditions import Condition
from db.engine.connection import Database, now
from db.engine.whole_rows import read_row
from db.journal.step_records import NO, YES
from db.kinds.states import HIDDEN, UNFINISHED, ItemState, JobState
from db.models import Approval, Attempt, EpisodeRow, Item, JobRow, TaskRow
from db.queue.approval_waits import clear_awaiting, is_open
from db.queue.job_changes import lock_job
from lumos_queue.errors import SpecError
from lumos_queue.util.sanitize import storable

MAX_NOTE = 10_000  #: characters of a person's note, which is sent to the planner
MAX_NAME = 200  #: of the person


@dataclass(frozen=True, slots=True)
class WaitingPlan:
    """A plan that a person is asked to approve, and has not answered yet."""

    name: str  #: of the episode: JOB-NUMBER
    job: str
    episode: int
    attempt: int
    position: int
    branch: int
    question: str  #: of the task
    shown: str
    asked_at: float
    tries: int  #: plans of this attempt that were shown, this one included


def find_waiting(connection: Connection, job: str = "", number: int | None = None) -> list[WaitingPlan]:
    """Return the plans that wait for an answer, oldest first: of all jobs, of `job`, or of its episode `number`."""
    earlier = Approval.__table__.alias()
    tries = (
        select(func.count())
        .where(earlier.c.episode == Approval.episode, earlier.c.attempt == Approval.attempt)
        .scalar_subquery()
    )
    query = (
        select(Approval.__table__, Item.job, Item.ordinal, TaskRow.question, tries.label("tries"))
        .join(Item, Item.id == Approval.episode)
        .join(JobRow, JobRow.id == Item.job)
        .join(TaskRow, TaskRow.id == Item.task)
        .where(is_open(), Item.state.in_(UNFINISHED), JobRow.state.not_in(HIDDEN))
        .order_by(Approval.asked_at, Approval.episode)
    )
    if job:
        query = query.where(Item.job == job)
    if number is not None:
        query = query.where(Item.ordinal == number)
    return [
        WaitingPlan(
            f"{row.job}-{row.ordinal}",
            row.job,
            row.episode,
            row.attempt,
            row.position,
            row.branch,
            row.question,
            row.shown,
            row.asked_at,
            row.tries,
        )
        for row in connection.execute(query)
    ]


def answer(database: Database, plan: WaitingPlan, yes: bool, note: str, who: str) -> None:
    """Store a person's answer. The episode is pending again at once.

    Raises SpecError when another person answered first, or the job was cancelled or removed meanwhile.
    """
    check_answer(note, who)
    words = {"answer": YES if yes else NO, "note": storable(note)[0], "who": storable(who)[0], "answered_at": now()}
    with database.writer.begin() as connection:
        job = lock_job(connection, plan.job)
        if job is None:
            raise SpecError(f"Job {plan.job} was removed meanwhile. List the jobs with: lumos jobs")
        if job.state in (JobState.CANCELLING, JobState.CANCELLED):
            raise SpecError(f"Job {plan.job} was cancelled meanwhile. To continue it anyway: lumos resume {plan.job}")
        # The lock comes first: a worker that gives the item back looks for an answer under the same lock (commit.py).
        connection.execute(select(Item.id).where(Item.id == plan.episode).with_for_update())
        of_plan = _match_plan(plan)
        if not connection.execute(update(Approval).where(*of_plan, Approval.answer == "").values(**words)).rowcount:
            raise SpecError(_describe_earlier_answer(connection, plan))
        statement = update(Item).where(Item.id == plan.episode, Item.state == ItemState.AWAITING)
        connection.execute(statement.values(state=ItemState.OWED, not_before_at=0.0))
        clear_awaiting(connection, plan.job)


def check_answer(note: str, who: str) -> None:
    """Raise SpecError for a note or a name that is too long, and for an empty name."""
    if len(note) > MAX_NOTE:
        raise SpecError(f"The note has {len(note):,} characters: expected at most {MAX_NOTE:,}.")
    if not who.strip() or len(who) > MAX_NAME:
        raise SpecError(f"'{who[:40]}' is not the name of a person: expected 1 to {MAX_NAME} characters.")


def latest_answer(connection: Connection, episode: int) -> Approval | None:
    """Return the row of an episode's latest answer, or None if it has no answer."""
    query = select(Approval.__table__).where(Approval.episode == episode, Approval.answer != "")
    newest_first = query.order_by(Approval.attempt.desc(), Approval.position.desc())
    return read_row(connection, Approval, newest_first.limit(1))


def describe_answer(name: str, row: Approval) -> str:
    """Return one line about a stored answer. `name`: of the episode; `row`: of `approval`."""
    return f"The plan of {name} was {'approved' if row.answer == YES else 'refused'} by {row.who} before"


def count_answers(connection: Connection, job: str) -> dict[str, int]:
    """Count the plans in the newest attempts of a job's episodes by answer; '' counts those that still wait."""
    newest = select(func.max(Attempt.number)).where(Attempt.episode == EpisodeRow.id).scalar_subquery()
    rows = connection.execute(
        select(Approval.answer, func.count())
        .join(EpisodeRow, EpisodeRow.id == Approval.episode)
        .where(EpisodeRow.job == job, Approval.attempt == newest)
        .group_by(Approval.answer)
    )
    return dict(rows.all())


def _describe_earlier_answer(connection: Connection, plan: WaitingPlan) -> str:
    row = read_row(connection, Approval, select(Approval.__table__).where(*_match_plan(plan)))
    return f"{describe_answer(plan.name, row)}: that answer counts." if row else f"Episode {plan.name} was removed."


def _match_plan(plan: WaitingPlan) -> tuple[Condition, ...]:
    return (
        Approval.episode == plan.episode,
        Approval.attempt == plan.attempt,
        Approval.position == plan.position,
        Approval.branch == plan.branch,
    )
