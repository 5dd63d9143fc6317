"""A filter as conditions on the table of episodes. Every value is a bound parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Float, ScalarSelect, and_, collate, exists, false, func, literal, not_, select
from sqlalchemy.orm import aliased

from db.engine.conditions import Condition, Value, contains, is_one_of
from db.kinds.failure_classes import classify
from db.kinds.states import HIDDEN
from db.models import EpisodeRow, ExecutionRow, JobRow, Label, ScoreRow, SubgoalRow, VerdictRow
from db.queries.episode_search import of_accepted_attempt, says
from db.queries.field_conditions import field_condition
from db.queries.filters import CHOICES, Filter, Term
from db.queries.job_filters import COMPARE, compare, job_condition, jobs_of_model
from db.queries.labels import RATING, RATINGS, VALUES
from lumos_queue.records import Ending

_OF_EPISODE = ("job", "split", "formulation", "origin", "licence", "ending", "calls", "sample")
_OF_JOB = ("benchmark", "project", "name", "tag", "kind")
FEW_JOBS = 50  #: jobs that a condition lists as parameters


def conditions(connection: Connection, query: Filter) -> list[Condition]:
    """Return the conditions on EpisodeRow. They also exclude jobs that are being stored or removed.

    Some parts are queried at once, and the conditions contain their results: those jobs, the jobs of a model, messages
    of failures, and compressed texts that contain the searched text.
    """
    plain_conditions = [_condition(connection, term) for term in query.terms if term.field not in ("text", "failure")]
    plain_conditions += [
        _has_failure(connection, term, plain_conditions) for term in query.terms if term.field == "failure"
    ]
    all_conditions = [EpisodeRow.ending != "", *plain_conditions]
    if hidden_jobs := list(connection.execute(select(JobRow.id).where(JobRow.state.in_(HIDDEN))).scalars()):
        all_conditions.append(EpisodeRow.job.not_in(hidden_jobs))
    texts = [str(term.value) for term in query.terms if term.field == "text"]
    return all_conditions + [says(connection, text, plain_conditions) for text in texts]


def _condition(connection: Connection, term: Term) -> Condition:
    field, value = term.field, term.value
    if field in _OF_EPISODE:
        return compare(connection, getattr(EpisodeRow, field), term)
    if field in _OF_JOB:
        # The jobs come first: an index finds their episodes, and without such a job no episode is read.
        fit = select(JobRow.id).where(job_condition(connection, term))
        jobs = list(connection.execute(fit).scalars())
        if not jobs:
            return false()
        return EpisodeRow.job.in_(jobs) if len(jobs) <= FEW_JOBS else is_one_of(EpisodeRow.job, jobs)
    match field:
        case "model":
            jobs = is_one_of(EpisodeRow.job, jobs_of_model(connection, term))
            return not_(jobs) if term.operator == "!=" else jobs
        case "level":
            levels = CHOICES["level"]
            fits = [level for level in levels if COMPARE[term.operator](levels.index(level), levels.index(str(value)))]
            return EpisodeRow.level.in_(["" if level == "none" else level for level in fits])
        case "score":
            return compare(connection, newest_score(connection), term)
        case "metric":
            return compare(connection, newest_score(connection, term.key), term)
        case "subgoals":
            count = select(func.count()).where(*of_accepted_attempt(SubgoalRow)).scalar_subquery()
            return compare(connection, count, term)
        case "since":
            return EpisodeRow.finished_at >= literal(value, Float)
        case "until":
            return EpisodeRow.finished_at < literal(value, Float)
        case "action":
            return _any(connection, ExecutionRow, ExecutionRow.name, term)
        case "error":
            return _any(connection, ExecutionRow, ExecutionRow.status, term, ExecutionRow.status != "ok")
        case "verdict" if value == "accepted" and term.operator != "~":
            is_rejected = exists().where(VerdictRow.episode == EpisodeRow.id, VerdictRow.rejects)
            return is_rejected if term.operator == "!=" else not_(is_rejected)
        case "verdict":
            return _any(connection, VerdictRow, VerdictRow.name, term)
        case "label":
            has_label = _has_label(VALUES, Label.value == term.value)
            return not_(has_label) if term.operator == "!=" else has_label
        case "meta":
            return field_condition(connection, term)
        case "rating":
            return _has_label(RATINGS, compare(connection, RATING, term))
        case _:
            raise AssertionError(f"the field '{field}' has no condition")


def _has_failure(connection: Connection, term: Term, other_conditions: Sequence[Condition]) -> Condition:
    """Return the condition that a failure of this class ended the episode. The message determines the class."""
    is_failure = EpisodeRow.ending == Ending.INFRA_ERROR.value
    messages = connection.execute(select(EpisodeRow.message).where(is_failure, *other_conditions).distinct()).scalars()
    condition = and_(
        is_failure, is_one_of(EpisodeRow.message, [text for text in messages if classify(text) == term.value])
    )
    return not_(condition) if term.operator == "!=" else condition


def newest_score(connection: Connection, metric: str = "") -> ScalarSelect[float]:
    """Return the subquery of the episode's score by `metric`, or by the job's main metric if it is ''.

    The newest version of the scorer counts.
    """
    byte_order = collate(ScoreRow.version, "C" if connection.dialect.name == "postgresql" else "BINARY")
    main = select(JobRow.main_metric).where(JobRow.id == EpisodeRow.job).correlate(EpisodeRow).scalar_subquery()
    return (
        select(ScoreRow.value)
        .where(ScoreRow.episode == EpisodeRow.id, ScoreRow.metric == (metric or main))
        .order_by(byte_order.desc())
        .limit(1)
        .scalar_subquery()
    )


def _any(connection: Connection, table: Any, column: Value, term: Term, *other_conditions: Condition) -> Condition:
    """Return the condition that a row of the episode has such a value; with !=, that no row has it."""
    of_episode = of_accepted_attempt(table) if hasattr(table, "attempt") else (table.episode == EpisodeRow.id,)
    fits = contains(connection, column, str(term.value)) if term.operator == "~" else column == term.value
    condition = exists().where(*of_episode, *other_conditions, fits)
    return not_(condition) if term.operator == "!=" else condition


def _has_label(kind: Sequence[str], fits: Condition) -> Condition:
    """Return the condition that for some person, the newest label of this kind of the whole episode meets `fits`."""
    later = aliased(Label)
    is_replaced = exists().where(
        later.episode == Label.episode,
        later.labeller == Label.labeller,
        later.position.is_(None),
        later.id > Label.id,
        later.value.in_(kind),
    )
    of_episode = (Label.episode == EpisodeRow.id, Label.position.is_(None), Label.value.in_(kind))
    return exists().where(*of_episode, fits, not_(is_replaced))
