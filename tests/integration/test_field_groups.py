"""Reports and comparisons by fields of the tasks: which groups there are, and what is told of each."""

from __future__ import annotations

from typing import Any

import pytest

from db.engine.connection import Database
from db.engine.lease import Lease
from db.queries.episode_columns import read_columns
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.pages.compose import read_page
from lumos_queue.pages.fit import write_small
from lumos_queue.pages.html import render_html
from lumos_queue.pages.markdown import render_markdown
from lumos_queue.records import Task
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.field_groups import MAX_VALUE, list_known_fields, name_group, split_tasks
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.scoring.paired_tests import holm, mcnemar_p
from lumos_queue.scoring.statistics import wilson
from tests.field_jobs import job_by_topic, tasks_with
from tests.page_parts import HOSTILE, parse_page, require_harmless, table_rows
from tests.scored_jobs import create_scored_job


def report_by(database: Database, job: str, *fields: str) -> dict[str, Any]:
    with database.engine.connect() as connection:
        return as_json(make_report(connection, get_job(connection, job), fields))


def compare_by(database: Database, *jobs: str, **options) -> list[dict[str, Any]]:
    with database.engine.connect() as connection:
        compared = compare_jobs(connection, [get_job(connection, job) for job in jobs], Options(**options))
    return as_json(compared)["comparisons"]


def names(groups: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(name_group(group["kind"], group.get("value"), group.get("values")), group["n"]) for group in groups]


def test_each_value_has_its_items_its_score_and_its_interval(database):
    topics = ["sets"] * 3 + ["algebra"] * 5
    report = report_by(database, job_by_topic(database, topics, [1, 0, 0, 1, 1, 1, 0, 1]), "topic")
    algebra, sets = report["by"]["topic"]
    assert (algebra["kind"], algebra["value"], algebra["n"]) == ("value", "algebra", 5), "the most frequent one first"
    low, high = wilson(4, 5)
    assert algebra["metrics"]["accuracy"] == {"value": 0.8, "ci95": [round(low, 6), round(high, 6)], "of": 5}
    assert sets["metrics"]["accuracy"]["value"] == round(1 / 3, 6) and (report["value"], report["n"]) == (0.625, 8)


def test_null_and_absent_are_a_group_and_no_value_is_taken_for_another(database):
    metas = [{"topic": None}, None, {}, {"topic": "(none)"}, {"topic": ""}, {"topic": "other (2 values)"}]
    job = create_scored_job(database, [[1]] * len(metas), tasks_with(metas))
    groups = report_by(database, job, "topic")["by"]["topic"]
    assert names(groups) == [("(none)", 3), ('""', 1), ('"(none)"', 1), ('"other (2 values)"', 1)]
    assert [group["kind"] for group in groups] == ["none", "value", "value", "value"]


def test_numbers_and_truth_values_are_grouped_by_their_text(database):
    values = [3, 3.0, "3", 3.5, True, "true", False, 2**60, -0.0, 0]
    groups = report_by(database, job_by_topic(database, values, [1] * len(values)), "topic")["by"]["topic"]
    assert dict(names(groups)) == {"3": 3, "3.5": 1, "true": 2, "false": 1, str(2**60): 1, "0": 2}


def test_values_beyond_the_twenty_most_frequent_are_other_but_for_a_value_of_that_name(database):
    topics = ["other"] * 3 + [f"often {number}" for number in range(19)] * 2 + [f"once {number}" for number in range(4)]
    job = job_by_topic(database, [*topics, None], [1] * len(topics) + [0])
    groups = report_by(database, job, "topic")["by"]["topic"]
    assert len(groups) == 22 and names(groups)[0] == ("other", 3)
    assert groups[-1]["kind"] == "other" and groups[-1]["values"] == 4 and groups[-1]["n"] == 4
    assert names(groups)[-2:] == [("(none)", 1), ("other (4 values)", 4)]
    assert sum(group["n"] for group in groups) == len(topics) + 1
    twenty = report_by(database, job_by_topic(database, topics[:-4], [1] * (len(topics) - 4)), "topic")["by"]["topic"]
    assert len(twenty) == 20 and all(group["kind"] == "value" for group in twenty)


def test_long_values_differ_though_reports_have_their_beginning_alone(database):
    groups = report_by(database, job_by_topic(database, ["x" * 999 + "a", "x" * 999 + "b"], [1, 0]), "topic")["by"][
        "topic"
    ]
    assert len(groups) == 2 and all(len(group["value"]) == MAX_VALUE for group in groups)


def test_items_that_are_not_judged_are_in_their_group_and_samples_are_not_independent(database):
    tasks = tasks_with([{"topic": "a"}, {"topic": "a"}, {"topic": "b"}])
    job = create_scored_job(database, [[1, 1], [0, None], [1, 1]], tasks)
    first, second = report_by(database, job, "topic")["by"]["topic"]
    assert (first["n"], first["metrics"]["accuracy"]["bounds"], second["n"]) == (4, [0.5, 0.75], 2)
    assert "bounds" not in second["metrics"]["accuracy"] and second["metrics"]["accuracy"]["of"] == 2
    alone = create_scored_job(database, [[1, 1], [0, None]], tasks_with([{"topic": "a"}] * 2, "alone"))
    assert first["metrics"] == report_by(database, alone)["metrics"]


def test_several_fields_and_what_the_benchmark_groups_by(database):
    benchmark = open_benchmark("toolworld")
    rows = [task for task in benchmark.read(None, "I1-inst") if isinstance(task, Task)][:12]
    tasks = [
        Task(task.benchmark, "tools", task.row, task.question, task.inputs, task.gold | {"meta": {"solvable": "x"}})
        for task in rows
    ]
    job = create_scored_job(database, [[1]] * 12, tasks, metric="pass")
    report = report_by(database, job, "parts", "meta.solvable")
    by_parts = {group["value"]: group["n"] for group in report["by"]["parts"]}
    assert by_parts == {name: group["n"] for name, group in report["groups"]["parts"].items()}
    assert names(report["by"]["meta.solvable"]) == [("x", 12)], "the column, not what the benchmark calls so"
    with database.engine.connect() as connection:
        assert list_known_fields(connection, get_job(connection, job)) == ["parts", "solvable", "meta.solvable"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["topik"], "No field of the data called 'topik'. Did you mean 'topic'? Choose one of: level, "),
        (["topic", "colour"], "called 'colour'. Choose one of: level, meta.meta.topic, tags, topic."),
        (["tags"], "cannot be grouped by the field 'tags': in row '0' its value is a list. Expected text, numbers, "),
    ],
)
def test_what_cannot_be_grouped_by_is_refused_in_one_line(database, fields, message):
    tasks = tasks_with([{"topic": "a", "level": 1, "tags": ["x"]}, {"meta.topic": "b"}])
    first, other = (
        create_scored_job(database, [[1], [1]], tasks, endpoint=f"tgi://{name}:1") for name in ("one", "two")
    )
    with pytest.raises(SpecError) as refused:
        report_by(database, first, *fields)
    assert message in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(SpecError) as refused:
        compare_by(database, first, other, by=fields)
    assert message in str(refused.value)


def test_a_column_whose_name_begins_like_a_filter_s_is_reached_by_its_whole_name(database):
    job = create_scored_job(database, [[1], [1]], tasks_with([{"topic": "a"}, {"meta.topic": "b"}]))
    assert names(report_by(database, job, "meta.meta.topic")["by"]["meta.meta.topic"]) == [("b", 1), ("(none)", 1)]


def test_jobs_without_fields_or_without_scores_are_refused(database):
    with pytest.raises(SpecError, match="have no fields of the data"):
        report_by(database, create_scored_job(database, [[1]], tasks_with([None], "bare")), "topic")
    with pytest.raises(SpecError, match="has no scores to group"):
        report_by(database, create_scored_job(database, [[1]], tasks_with([{"topic": "a"}]), kind="infer"), "topic")


def test_a_task_is_held_without_its_texts(database):
    job = create_scored_job(
        database, [[1]], [Task("wordmath", "data", "0", "q" * 99, {"n": 1}, {"answer": "7", "meta": {"a": 1}})]
    )
    with database.engine.connect() as connection:
        (group,) = split_tasks(connection, get_job(connection, job), ["a"])["a"]
    (task,) = group.tasks.values()
    assert (task.question, task.inputs, task.gold) == ("", {}, None)


def test_two_jobs_are_compared_in_each_group_with_holms_correction(database):
    topics = ["a"] * 40 + ["b"] * 20 + ["c"] * 10 + [None] * 2
    before = [0] * 20 + [1] * 20 + [0] * 20 + [1] * 10 + [0, 0]
    after = [1] * 35 + [0] * 5 + [1] * 6 + [0] * 14 + [1] * 10 + [0, 0]
    first, other = (job_by_topic(database, topics, values) for values in (before, after))
    (compared,) = compare_by(database, first, other, by=["topic"])
    groups = compared["by"]["topic"]
    assert names(groups) == [("a", 40), ("b", 20), ("c", 10), ("(none)", 2)]
    assert [(group["fixed"], group["broken"], group["pairs"]) for group in groups] == [
        (20, 5, 40),
        (6, 0, 20),
        (0, 0, 10),
        (0, 0, 2),
    ]
    exact = [mcnemar_p(20, 5), mcnemar_p(6, 0), 1.0, 1.0]
    assert [group["p"] for group in groups] == exact
    assert [group["p_holm"] for group in groups] == holm(exact) and groups[0]["p_holm"] > groups[0]["p"]
    assert compared["p_holm"] == compared["p"], "the whole is one comparison, whatever its groups are"
    rows = [number for number, topic in enumerate(topics) if topic == "a"]
    tasks = tasks_with([{"topic": "a"}] * 40, "alone")
    alone = [create_scored_job(database, [[values[number]] for number in rows], tasks) for values in (before, after)]
    (whole,) = compare_by(database, *alone)
    same = ("difference", "ci95", "p", "value_a", "value_b", "both", "neither", "tasks_for_power", "test")
    assert {name: groups[0][name] for name in same} == {name: whole[name] for name in same}


def test_all_groups_of_all_comparisons_are_corrected_together(database):
    topics = ["a"] * 12 + ["b"] * 12
    jobs = [
        job_by_topic(database, topics, values)
        for values in ([0] * 24, [1] * 8 + [0] * 16, [0] * 12 + [1] * 9 + [0] * 3)
    ]
    found = compare_by(database, *jobs, by=["topic"])
    groups = [group for one in found for group in one["by"]["topic"]]
    assert [group["p_holm"] for group in groups] == holm([group["p"] for group in groups])


def test_samples_of_a_task_are_one_observation_in_its_group_too(database):
    tasks = tasks_with([{"topic": "a"}] * 8 + [{"topic": "b"}] * 3)
    first = create_scored_job(database, [[0, 1]] * 11, tasks)
    other = create_scored_job(database, [[1, 1]] * 6 + [[0, 0]] * 5, tasks)
    (compared,) = compare_by(database, first, other, by=["topic"])
    group = compared["by"]["topic"][0]
    alone = tasks_with([{"topic": "a"}] * 8, "alone")
    jobs = [create_scored_job(database, values, alone) for values in ([[0, 1]] * 8, [[1, 1]] * 6 + [[0, 0]] * 2)]
    (whole,) = compare_by(database, *jobs)
    assert group["clustered"] and group["tasks"] == 8
    for name in ("difference", "ci95", "p", "test", "better", "worse"):
        assert group[name] == whole[name], name


def test_a_group_that_is_not_judged_has_no_pairs_and_no_test(database):
    first = job_by_topic(database, ["a", "a", "b"], [1, 0, None])
    other = job_by_topic(database, ["a", "a", "b"], [1, 1, 1])
    (compared,) = compare_by(database, first, other, by=["topic"])
    assert compared["by"]["topic"][1] == {"kind": "value", "value": "b", "n": 1, "pairs": 0}
    assert compared["by"]["topic"][0]["p_holm"] == compared["by"]["topic"][0]["p"]


def pages(database: Database, *jobs: str) -> tuple[str, str]:
    with database.engine.connect() as connection:
        read = read_page(connection, [get_job(connection, job) for job in jobs], Lease(15.0), by=["topic"])
    html, markdown = (write_small(read, render).decode() for render in (render_html, render_markdown))
    return html, markdown


def test_pages_show_values_as_text_whatever_they_are(database):
    first, other = (job_by_topic(database, list(HOSTILE), [value] * len(HOSTILE)) for value in (0, 1))
    html, markdown = pages(database, first, other)
    page = require_harmless(html)
    assert "\x1b" not in html + markdown and "\u202e" not in html + markdown
    by_topic = next(one for one in page.iter("figure") if " by topic: accuracy" in one.findtext("figcaption"))
    heads, *rows = table_rows(by_topic.find(".//table"))
    assert heads[:2] == ["topic", "items"] and len(rows) == len(HOSTILE)
    assert all(len(row[0]) <= 42 and "\n" not in row[0] for row in rows)


def test_a_page_has_a_figure_of_scores_and_one_of_differences_for_each_field(database):
    first = job_by_topic(database, ["a"] * 6 + ["b"] * 4, [0] * 10)
    other = job_by_topic(database, ["a"] * 6 + ["b"] * 4, [1] * 10, endpoint="tgi://two:1")
    page = parse_page(pages(database, first, other)[0])
    titles = [figure.findtext("figcaption") for figure in page.iter("figure")]
    assert sum(" by topic: accuracy" in title for title in titles) == 2
    (figure,) = [one for one in page.iter("figure") if f"{other} − {first} by topic" in one.findtext("figcaption")]
    heads, *rows = table_rows(figure.find(".//table"))
    assert heads == ["topic", "pairs", first, other, "difference, points", "p, Holm"]
    assert [row[0] for row in rows] == ["a", "b"] and rows[0][-1:] == ["0.062"]


def test_frames_have_a_column_for_each_field(database):
    metas = [
        {"year": 1999, "share": 1, "open": True, "mixed": 3.0, "tags": ["a"]},
        None,
        {"year": None, "share": 0.5, "mixed": "x"},
    ]
    job = create_scored_job(database, [[1]] * 3, tasks_with(metas))
    columns = read_columns(database, parse_where(f"job={job}"))
    assert {name: values for name, values in columns.items() if name.startswith("meta.")} == {
        "meta.year": [1999, None, None],
        "meta.share": [1, None, 0.5],
        "meta.open": [True, None, None],
        "meta.mixed": ["3", None, "x"],
        "meta.tags": ['["a"]', None, None],
    }
