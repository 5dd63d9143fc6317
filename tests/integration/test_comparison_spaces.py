"""Jobs on the same file before and after questions kept their white space are compared task by task."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select, update

from db.engine.white_space import WHITE_SPACE
from db.models import EpisodeRow, Item
from db.queries.jobs import get_job
from db.queue.equal_tasks import have_equal_tasks
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.step_pairs import pair_episodes
from lumos_queue.web.views.comparison import find_of_task
from tests.scored_jobs import create_scored_job, tasks_of

WRITTEN = ("question 0", " question  1 ", "question\t2", "que\u00a0stion\n3")


def rows(dataset: str, *questions: str) -> tuple[Task, ...]:
    return tuple(
        replace(task, question=question) for task, question in zip(tasks_of(4, dataset), questions, strict=True)
    )


@pytest.fixture
def jobs(database) -> tuple[str, str]:
    before = rows("before", *(" ".join(question.split()) for question in WRITTEN))
    first = create_scored_job(database, [[1], [0], [1], [0]], before)
    return first, create_scored_job(database, [[1], [1], [0], [0]], rows("after", *WRITTEN))


def compare(database, *jobs, **options):
    with database.engine.connect() as connection:
        return as_json(compare_jobs(connection, [get_job(connection, job) for job in jobs], Options(**options)))


def test_white_space_is_what_texts_are_divided_at():
    assert set(WHITE_SPACE) == {character for character in map(chr, range(0x110000)) if not character.split()}


def test_every_task_is_paired(database, jobs):
    (pair,) = compare(database, *jobs)["comparisons"]
    names = ("pairs", "of", "both", "fixed", "broken", "neither", "unlike")
    assert [pair[name] for name in names] == [4, 4, 1, 1, 1, 1, ""]
    assert [one["a"].rpartition("-")[2] for one in pair["fixed_pairs"]] == ["1"]
    (common,) = compare(database, *jobs, common=True)["comparisons"]
    assert (common["pairs"], common["of"]) == (4, 4)


def test_items_that_only_one_job_has_are_not_common(database, jobs):
    with database.writer.begin() as connection:
        last = connection.execute(select(Item.id).where(Item.job == jobs[1], Item.ordinal == 3)).scalar_one()
        connection.execute(update(Item).where(Item.id == last).values(sample=7))
        connection.execute(update(EpisodeRow).where(EpisodeRow.id == last).values(sample=7))
    with pytest.raises(SpecError, match="both have 3 of 4"):
        compare(database, *jobs)
    (pair,) = compare(database, *jobs, common=True)["comparisons"]
    assert (pair["pairs"], pair["of"]) == (3, 3)


def test_episodes_of_a_task_are_shown_side_by_side(database, jobs):
    with database.engine.connect() as connection:
        stored = [get_job(connection, job) for job in jobs]
        for number in range(4):
            names = [f"{job}-{number}" for job in jobs]
            task = connection.execute(select(Item.task).where(Item.job == jobs[0], Item.ordinal == number)).scalar_one()
            assert find_of_task(connection, stored, task, 0) == names
            assert pair_episodes(connection, names).first_difference is None or number in (1, 2)
        with pytest.raises(SpecError, match="are of different tasks"):
            pair_episodes(connection, [f"{jobs[0]}-0", f"{jobs[1]}-1"])


@pytest.mark.parametrize(
    "change",
    [
        {"question": "question 9"},
        {"question": "Question 3"},
        {"row": "9"},
        {"gold": {"answer": "9"}},
        {"inputs": {"n": 3, "pages": 1}},
    ],
)
def test_other_tasks_are_still_other_rows(database, jobs, change):
    *same, last = rows("other", *WRITTEN)
    other = create_scored_job(database, [[1]] * 4, (*same, replace(last, **change)))
    with pytest.raises(SpecError, match="other rows: dataset before of"):
        compare(database, jobs[0], other)
    (pair,) = compare(database, jobs[0], other, common=True)["comparisons"]
    assert pair["pairs"] == (4 if "inputs" in change else 3)


def test_datasets_of_other_lengths_are_not_equal(database, jobs):
    create_scored_job(database, [[1]] * 3, rows("fewer", *WRITTEN)[:3])
    with database.engine.connect() as connection:
        assert have_equal_tasks(connection, "before", "after") and have_equal_tasks(connection, "after", "before")
        for first, second in (("fewer", "before"), ("before", "fewer"), ("before", "gone"), ("gone", "gone too")):
            assert not have_equal_tasks(connection, first, second)
