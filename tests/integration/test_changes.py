"""The last change of jobs and audits: it differs after each change of what a report reads, and at no other time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from db.kinds.failure_classes import FailureClass
from db.models import EpisodeRow
from db.queries.changes import Change, find_audit_change, find_job_change
from db.queries.filters import parse_where
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.job_changes import pause
from db.queue.tags import change_tags
from db.review.audits import sample_audit
from db.review.label_removal import take_back_label
from db.review.labels import NewLabel, add_labels
from db.review.scorings import store_scores
from db.transfer.requeue import requeue
from lumos_queue.records import Score
from lumos_queue.scoring.sampling import AuditKind
from tests.claims import claim, finish, holder
from tests.scored_jobs import create_scored_job


def read_change(database, find: Callable[..., Change], subject: Any) -> Change:
    with database.engine.connect() as connection:
        return find(connection, subject)


def episodes_of(database, job: str) -> list[int]:
    with database.engine.connect() as connection:
        query = select(EpisodeRow.id).where(EpisodeRow.job == job).order_by(EpisodeRow.id)
        return list(connection.execute(query).scalars())


def test_a_job_changes_with_its_episodes_scores_labels_and_tags(database):
    job = create_scored_job(database, [[1], [0], [None], [1]])
    first, second, *_ = episodes_of(database, job)

    def rescore(episode: int) -> None:
        assert store_scores(database, job, {episode: (1, (Score("accuracy", 1.0, "2"),))}, "accuracy") == 1

    def finish_item() -> None:
        who = holder(database, job)
        items = claim(database, who, 1)
        commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(items[0])]))

    changes = (
        lambda: add_labels(database, [NewLabel(first, "right", "ann")]),
        lambda: take_back_label(database, first, "ann"),
        lambda: add_labels(database, [NewLabel(first, "right", "ann")]),
        lambda: rescore(first),
        lambda: rescore(second),
        lambda: change_tags(database, job, tags={"team": "maths"}),
        lambda: change_tags(database, job, tags={"team": "physics"}),
        lambda: change_tags(database, job, name="other"),
        lambda: requeue(database, job, FailureClass.OTHER),
        finish_item,
    )
    marks = [read_change(database, find_job_change, [job]).mark]
    for change in changes:
        change()
        marks.append(read_change(database, find_job_change, [job]).mark)
        assert read_change(database, find_job_change, [job]).mark == marks[-1]
    assert marks[2] == marks[0]  # the label was taken back
    # The third change stores a label that may have the key of the first, at another time.
    assert len({str(mark) for mark in marks[1:]}) == len(changes)


def test_an_episode_without_scores_changes_an_open_job(database):
    job = create_scored_job(database, [[1], [0], [1]], kind="infer", pending=2)
    who = holder(database, job)
    items = claim(database, who, 1)
    before = read_change(database, find_job_change, [job])
    commit(
        database, who, Batch({item.id: item.claim for item in items}, finished=[replace(finish(items[0]), scores=())])
    )
    after = read_change(database, find_job_change, [job])
    assert before.mark != after.mark and before.is_open and after.is_open


def test_a_job_does_not_change_with_another_job(database):
    job = create_scored_job(database, [[1], [0]])
    before = read_change(database, find_job_change, [job])
    other = create_scored_job(database, [[1], [0]], pending=1)
    assert read_change(database, find_job_change, [job]) == before and not before.is_open
    both = read_change(database, find_job_change, [job, other])
    assert both.is_open and both.mark != before.mark
    pause(database, other)
    assert not read_change(database, find_job_change, [job, other]).is_open


@pytest.mark.parametrize("twice", [0.0, 1.0])
def test_an_audit_changes_with_its_labels(database, twice):
    job = create_scored_job(database, [[1], [0]])
    sample_audit(database, "first", parse_where(f"job={job}"), 2, 0, AuditKind.RUNS, twice)
    marks = [read_change(database, find_audit_change, "first").mark]
    for value in ("right", "wrong"):
        add_labels(database, [NewLabel(episodes_of(database, job)[0], value, "ann", audit="first")])
        marks.append(read_change(database, find_audit_change, "first").mark)
    assert len(set(marks)) == 3
