"""A filter as conditions on the table of episodes. Every value is a bound parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Float, and_, collate, exists, false, func, literal, not_, select
from sqlalchemy.orm import aliased

from db.conditions import Condition, contains, is_one_of
from db.episode_search import of_accepted_attempt, says
from db.failure_classes import classify
from db.field_conditions import field_condition
from db.filters import CHOICES, Filter, Term
from db.job_filters import COMPARE, compare, job_condition, jobs_of_model
from db.labels import RATING, RATINGS, VALUES
from db.models import EpisodeRow, ExecutionRow, JobRow, Label, ScoreRow, SubgoalRow, VerdictRow
from db.states import HIDDEN
from lumos_queue.records import Ending

_OF_EPISODE = ("job", "split", "formulation", "origin", "licence", "ending", "calls", "sample")
_OF_JOB = ("benchmark", "project", "name", "tag", "kind")
FEW_JOBS = 50  #: that are named one by one


def conditions(connection: Connection, wanted: Filter) -> list[Condition]:
    """What must hold of EpisodeRow: of jobs that are not being stored or removed.

    Such jobs, models, messages of failures, and texts that are stored compressed are looked up at once.
    """
    plain = [_condition(connection, one) for one in wanted.terms if one.field not in ("text", "failure")]
    plain += [_failed_by(connection, one, plain) for one in wanted.terms if one.field == "failure"]
    found = [EpisodeRow.ending != "", *plain]
    if half := list(connection.execute(select(JobRow.id).where(JobRow.state.in_(HIDDEN))).scalars()):
        found.append(EpisodeRow.job.not_in(half))
    searched = [str(one.value) for one in wanted.terms if one.field == "text"]
    return found + [says(connection, text, plain) for text in searched]


def _condition(connection: Connection, one: Term) -> Condition:
    field, value = one.field, one.value
    if field in _OF_EPISODE:
        return compare(connection, getattr(EpisodeRow, field), one)
    if field in _OF_JOB:
        # The jobs first: their episodes have an index, and where there is no such job nothing has to be read.
        fit = select(JobRow.id).where(job_condition(connection, one))
        jobs = list(connection.execute(fit).scalars())
        if not jobs:
            return false()
        return EpisodeRow.job.in_(jobs) if len(jobs) <= FEW_JOBS else is_one_of(EpisodeRow.job, jobs)
    match field:
        case "model":
            jobs = is_one_of(EpisodeRow.job, jobs_of_model(connection, one))
            return not_(jobs) if one.operator == "!=" else jobs
        case "level":
            levels = CHOICES["level"]
            fits = [level for level in levels if COMPARE[one.operator](levels.index(level), levels.index(str(value)))]
            return EpisodeRow.level.in_(["" if level == "none" else level for level in fits])
        case "score":
            return compare(connection, newest_score(connection), one)
        case "metric":
            return compare(connection, newest_score(connection, one.key), one)
        case "subgoals":
            count = select(func.count()).where(*of_accepted_attempt(SubgoalRow)).scalar_subquery()
            return compare(connection, count, one)
        case "since":
            return EpisodeRow.finished_at >= literal(value, Float)
        case "until":
            return EpisodeRow.finished_at < literal(value, Float)
        case "action":
            return _any(connection, ExecutionRow, ExecutionRow.name, one)
        case "error":
            return _any(connection, ExecutionRow, ExecutionRow.status, one, ExecutionRow.status != "ok")
        case "verdict" if value == "accepted" and one.operator != "~":
            rejected = exists().where(VerdictRow.episode == EpisodeRow.id, VerdictRow.rejects)
            return rejected if one.operator == "!=" else not_(rejected)
        case "verdict":
            return _any(connection, VerdictRow, VerdictRow.name, one)
        case "label":
            found = _has_label(VALUES, Label.value == one.value)
            return not_(found) if one.operator == "!=" else found
        case "meta":
            return field_condition(connection, one)
        case "rating":
            return _has_label(RATINGS, compare(connection, RATING, one))
    raise AssertionError(f"the field '{field}' has no condition")


def _failed_by(connection: Connection, one: Term, others: Sequence[Condition]) -> Condition:
    """Whether infrastructure ended it so. The class is told from the message, of which there are few."""
    ended = EpisodeRow.ending == Ending.INFRA_ERROR.value
    messages = connection.execute(select(EpisodeRow.message).where(ended, *others).distinct()).scalars()
    found = and_(ended, is_one_of(EpisodeRow.message, [text for text in messages if classify(text) == one.value]))
    return not_(found) if one.operator == "!=" else found


def newest_score(connection: Connection, metric: str = "") -> Any:
    """The episode's score by the newest version of that metric's scorer; without a metric, by the main one."""
    byte_order = collate(ScoreRow.version, "C" if connection.dialect.name == "postgresql" else "BINARY")
    main = select(JobRow.main_metric).where(JobRow.id == EpisodeRow.job).correlate(EpisodeRow).scalar_subquery()
    return (
        select(ScoreRow.value)
        .where(ScoreRow.episode == EpisodeRow.id, ScoreRow.metric == (metric or main))
        .order_by(byte_order.desc())
        .limit(1)
        .scalar_subquery()
    )


def _any(connection: Connection, table: Any, column: Any, one: Term, *others: Condition) -> Condition:
    """Whether a row of the episode has such a value; with !=, whether none has it."""
    own = of_accepted_attempt(table) if hasattr(table, "attempt") else (table.episode == EpisodeRow.id,)
    fits = contains(connection, column, str(one.value)) if one.operator == "~" else column == one.value
    found = exists().where(*own, *others, fits)
    return not_(found) if one.operator == "!=" else found


def _has_label(kind: Sequence[str], fits: Condition) -> Condition:
    """By any person: the newest label of this kind of each for the whole episode counts."""
    later = aliased(Label)
    replaced = exists().where(
        later.episode == Label.episode,
        later.labeller == Label.labeller,
        later.position.is_(None),
        later.id > Label.id,
        later.value.in_(kind),
    )
    mine = (Label.episode == EpisodeRow.id, Label.position.is_(None), Label.value.in_(kind))
    return exists().where(*mine, fits, not_(replaced))
