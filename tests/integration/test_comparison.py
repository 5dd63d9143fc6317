"""Jobs compared task by task: what is counted, what is left out, what is refused. On SQLite and PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select, update

from db.models import EpisodeRow, Item, JobRow, ScoreRow, ScoreSum
from db.queries.jobs import get_job
from lumos_queue.errors import SpecError
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.json_values import as_json
from lumos_queue.scoring.paired_tests import mcnemar_p, tango_interval
from tests.integration.databases import sqlite_only
from tests.scored_jobs import create_scored_job, tasks_of


def compare(database, *jobs, **options):
    with database.engine.connect() as connection:
        return as_json(compare_jobs(connection, [get_job(connection, job) for job in jobs], Options(**options)))


def once(*values):
    return [[value] for value in values]


def test_each_pair_is_counted_once_and_listed_by_its_two_episodes(database):
    first = create_scored_job(database, once(1, 1, 0, 0, 1, 0))
    other = create_scored_job(database, once(1, 0, 1, 0, 1, 1), endpoint="tgi://other:1", name="tried again")
    found = compare(database, first, other)
    (pair,) = found["comparisons"]
    counts = {name: pair[name] for name in ("pairs", "both", "fixed", "broken", "neither", "tasks", "of", "binary")}
    assert counts == {"pairs": 6, "both": 2, "fixed": 2, "broken": 1, "neither": 1, "tasks": 6, "of": 6, "binary": True}
    assert pair["difference"] == pytest.approx(1 / 6, abs=1e-6)
    assert pair["ci95"] == pytest.approx(tango_interval(2, 1, 6), abs=1e-6)
    assert (pair["p"], pair["p_holm"]) == (mcnemar_p(2, 1), mcnemar_p(2, 1))
    assert (pair["value_a"]["value"], pair["value_b"]["value"]) == (0.5, 0.666667)
    assert [(one["a"], one["b"], one["question"]) for one in pair["fixed_pairs"]] == [
        (f"{first}-2", f"{other}-2", "question 2"),
        (f"{first}-5", f"{other}-5", "question 5"),
    ]
    assert [(one["a"], one["value_a"], one["value_b"]) for one in pair["broken_pairs"]] == [(f"{first}-1", 1, 0)]
    heads = [job["differs"] for job in found["jobs"]]
    assert heads[1]["name"] == "tried again" and heads[0]["planner"] != heads[1]["planner"]
    assert found["notes"] == [] and found["jobs"][0]["score"]["value"] == 0.5


def test_what_infrastructure_ended_is_no_wrong_answer_and_widens_the_bounds(database):
    first = create_scored_job(database, once(1, 1, 0, None))
    other = create_scored_job(database, once(1, None, 1, 1))
    with database.writer.begin() as connection:  # as is stored where the answer to nothing is judged all the same
        failed = select(EpisodeRow.id).where(EpisodeRow.job == other, EpisodeRow.ending == "infra_error")
        score = {"episode": connection.execute(failed).scalar_one(), "metric": "accuracy", "version": "1", "value": 0.0}
        connection.execute(insert(ScoreRow), [score | {"trials": 1, "detail": ""}])
    found = compare(database, first, other)
    (pair,) = found["comparisons"]
    assert (pair["pairs"], pair["both"], pair["fixed"], pair["broken"], pair["of"]) == (2, 1, 1, 0, 4)
    assert pair["bounds"] == [(1 - 2) / 4, (1 + 2) / 4]
    assert [(job["judged"], job["infra_error"]) for job in found["jobs"]] == [(3, 1), (3, 1)]


def test_samples_of_a_task_are_one_cluster(database):
    first = create_scored_job(database, [[1, 1], [0, 0], [1, 0], [0, 1]])
    other = create_scored_job(database, [[1, 1], [1, 1], [1, 0], [1, 1]])
    (pair,) = compare(database, first, other)["comparisons"]
    assert (pair["pairs"], pair["tasks"], pair["clustered"]) == (8, 4, True)
    assert (pair["fixed"], pair["broken"], pair["better"], pair["worse"], pair["equal"]) == (3, 0, 2, 0, 2)
    # By hand in tests/unit/test_clusters.py.
    assert pair["difference"] == 0.375
    assert pair["standard_error"] == round((44 / 768) ** 0.5, 6)
    assert (pair["p"], pair["test"], pair["tasks_for_power"]) == (0.5, "sign flips by task, exact", 13)


@sqlite_only
def test_graded_scores_and_further_metrics(database):
    rows = tasks_of(4, benchmark="superni")
    first = create_scored_job(database, once(0.25, 0.5, 1, 0), rows, metric="rouge_l")
    other = create_scored_job(database, once(0.5, 0.5, 0.5, 0.25), rows, metric="rouge_l")
    (pair,) = compare(database, first, other)["comparisons"]
    assert not pair["binary"] and "both" not in pair
    assert (pair["fixed"], pair["broken"], pair["difference"], pair["p"]) == (2, 1, 0.0, 1.0)
    assert pair["ci95"][0] < 0 < pair["ci95"][1]
    assert pair["tasks_for_power"] is None


def test_the_newest_version_of_a_scorer_counts_and_other_versions_are_told(database):
    first = create_scored_job(database, once(1, 0, 0))
    other = create_scored_job(database, once(0, 0, 0))
    with database.writer.begin() as connection:
        of_other = list(connection.execute(select(EpisodeRow.id).where(EpisodeRow.job == other)).scalars())
        values = [{"episode": one, "metric": "accuracy", "version": "2", "value": 1.0} for one in of_other[:2]]
        connection.execute(insert(ScoreRow), [value | {"trials": 1, "detail": ""} for value in values])
        connection.execute(
            insert(ScoreSum),
            [
                {
                    "job": other,
                    "session": 0,
                    "metric": "accuracy",
                    "version": "2",
                    "value": 1.0,
                    "trials": 1,
                    "episodes": 2,
                }
            ],
        )
    found = compare(database, first, other)
    (pair,) = found["comparisons"]
    assert (pair["both"], pair["fixed"], pair["broken"], pair["neither"]) == (1, 1, 0, 1)
    assert "other versions" in found["notes"][0] and f"{other} by 1 and 2" in found["notes"][0]


@sqlite_only
def test_several_jobs_are_compared_with_the_first_and_corrected_by_holm(database):
    first = create_scored_job(database, once(*[0] * 12))
    second = create_scored_job(database, once(*[1] * 8, *[0] * 4))
    third = create_scored_job(database, once(*[1] * 6, *[0] * 6))
    pairs = compare(database, first, second, third)["comparisons"]
    assert [(one["a"], one["b"]) for one in pairs] == [(first, second), (first, third)]
    assert [one["p"] for one in pairs] == [mcnemar_p(8, 0), mcnemar_p(6, 0)]
    assert [one["p_holm"] for one in pairs] == [2 * mcnemar_p(8, 0), mcnemar_p(6, 0)]


@sqlite_only
def test_prices_for_each_right_answer_are_told_where_prices_are(database):
    first, other = create_scored_job(database, once(1, 1, 0, 0)), create_scored_job(database, once(0, 0, 0, 0))
    assert "usd" not in compare(database, first, other)["jobs"][0]
    found = compare(database, first, other, prices=(2.0, 10.0))["jobs"]
    assert found[0]["usd"] == pytest.approx((400 * 2 + 40 * 10) / 1e6)
    assert found[0]["per_right"]["usd"] == pytest.approx(found[0]["usd"] / 2)
    assert (found[0]["per_right"]["calls"], found[0]["per_right"]["tokens"]) == (4.0, 220.0)
    assert found[1]["per_right"] == {}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"values": once(1, 0, 1)}, "other rows"),
        ({"values": [[1, 1]] * 4}, "other samples"),
        ({"values": once(1, 1, 1, 1), "limit": 2}, "other tasks"),
        ({"values": once(1, 1, 1, 1), "pending": 2}, "half done: 2 of its 4 items"),
    ],
)
def test_unlike_jobs_are_refused_in_one_line_or_compared_on_what_both_have(database, other, reason):
    first = create_scored_job(database, once(1, 0, 1, 0))
    rows = tasks_of(3, "other data") if reason == "other rows" else tasks_of(4)
    job = create_scored_job(database, tasks=rows, **other)
    with pytest.raises(SpecError, match=reason) as refused:
        compare(database, first, job)
    assert "--common" in str(refused.value) and "\n" not in str(refused.value)
    (pair,) = compare(database, first, job, common=True)["comparisons"]
    pairs, of = {"other rows": (3, None), "other samples": (4, 4), "other tasks": (2, 2)}.get(reason, (2, 4))
    assert (pair["pairs"], pair.get("of")) == (pairs, of)
    assert pair["items"] == {
        first: 4,
        job: 8 if reason == "other samples" else 3 if reason == "other rows" else 2 if reason == "other tasks" else 4,
    }


def test_other_tasks_of_the_same_number_are_not_taken_for_the_same(database):
    first, other = create_scored_job(database, once(1, 0, 1, 0)), create_scored_job(database, once(1, 0, 1, 0))
    with database.writer.begin() as connection:
        mine = Item.job == other
        connection.execute(update(Item).where(mine, Item.ordinal == 3).values(sample=7))
        connection.execute(update(EpisodeRow).where(EpisodeRow.job == other, EpisodeRow.task == 4).values(sample=7))
    with pytest.raises(SpecError, match="both have 3 of 4"):
        compare(database, first, other)
    assert compare(database, first, other, common=True)["comparisons"][0]["pairs"] == 3


@sqlite_only
def test_what_has_nothing_to_compare_is_refused(database):
    first = create_scored_job(database, once(1, 0))
    for job, reason in (
        (create_scored_job(database, once(1, 0), kind="infer"), "kind 'infer', which has no scores"),
        (
            create_scored_job(database, once(1, 0), tasks_of(2, "d", "svamp")),
            r"benchmark 'wordmath', job .* of 'svamp'",
        ),
        (create_scored_job(database, once(1, 0), pending=2), "no score of 'accuracy' yet"),
        (create_scored_job(database, once(None, None)), "no score of 'accuracy' yet"),
        (first, "each once"),
    ):
        for common in (False, True):
            with pytest.raises(SpecError, match=reason) as refused:
                compare(database, first, job, common=common)
            assert "\n" not in str(refused.value)
    with pytest.raises(SpecError, match="speed"):
        compare(database, first, create_scored_job(database, once(1, 0)), metric="speed")
    disjoint = create_scored_job(database, once(1, 0), tasks_of(2, "others", n="x"))
    with database.writer.begin() as connection:
        connection.exec_driver_sql("UPDATE task SET question = 'another' WHERE dataset = 'others'")
    with pytest.raises(SpecError, match="no task in common"):
        compare(database, first, disjoint, common=True)


@sqlite_only
def test_a_job_chosen_by_how_its_tasks_ended_says_that_its_accuracy_is_none(database):
    first = create_scored_job(database, once(1, 0))
    other = create_scored_job(database, once(1, 0), chosen="score=0", parent=first)
    assert "its mean is not an accuracy" in compare(database, first, other)["notes"][0]
    plain = create_scored_job(database, once(1, 0), chosen="formulation=iterative", parent=first)
    assert compare(database, first, plain)["notes"] == []


def test_tasks_derived_from_one_row_are_one_cluster_and_sets_weigh(database):
    rows = [
        task.__class__(
            task.benchmark, task.dataset, task.row, task.question, {"from": {"row": str(int(task.row) // 2)}}, task.gold
        )
        for task in tasks_of(6, "derived")
    ]
    first, other = (
        create_scored_job(database, once(0, 0, 1, 1, 0, 1), rows),
        create_scored_job(database, once(1, 1, 1, 1, 0, 0), rows),
    )
    (pair,) = compare(database, first, other)["comparisons"]
    assert (pair["tasks"], pair["pairs"], pair["clustered"]) == (3, 6, True)
    assert pair["p"] == 1.0  # differences of the rows 2 0 -1: of four sums 3 1 -1 -3 all are as far from 0 as 1
    drawn = [
        task.__class__(
            task.benchmark, task.dataset, task.row, task.question, {"sets": [[0, 1], [0], [1]][number]}, task.gold
        )
        for number, task in enumerate(tasks_of(3, "drawn"))
    ]
    first, other = create_scored_job(database, once(0, 0, 1), drawn), create_scored_job(database, once(1, 0, 1), drawn)
    (pair,) = compare(database, first, other)["comparisons"]
    assert (pair["value_a"]["value"], pair["value_b"]["value"], pair["difference"]) == (0.25, 0.75, 0.5)


def test_jobs_are_read_by_their_rows_alone(database):
    """No tag, name or label of a person is needed, and nothing is written."""
    first, other = create_scored_job(database, once(1, 0)), create_scored_job(database, once(0, 1))
    with database.engine.connect() as connection:
        before = connection.execute(JobRow.__table__.select()).all()
        compare_jobs(connection, [get_job(connection, job) for job in (first, other)])
        assert connection.execute(JobRow.__table__.select()).all() == before
