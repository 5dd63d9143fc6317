"""Scores by group as a person reads them: in 80 columns, no figure cut, and none in the place of another."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.openagi.benchmark import benchmark
from lumos_queue.pages.sections.scores import tabulate_groups, tabulate_overalls
from lumos_queue.pages.terminal import print_blocks
from lumos_queue.reports.groups import measure_overalls, split_by_group
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.score_values import GroupScores, Metric
from tests.unit.reports import empty_report
from tests.unit.test_score_groups import TASKS, VALUES, Grouped, job

JOB = "20261123-openagi-ab12"


@pytest.fixture(scope="module")
def openagi() -> dict[int, Any]:
    return dict(enumerate(benchmark.read(None, "all", samples="1")))


def print_report(report: JobReport) -> str:
    text = io.StringIO()
    blocks = [*tabulate_overalls(report, JOB), *tabulate_groups(report, JOB)]
    print_blocks(Console(file=text, width=80, color_system=None), blocks)
    return text.getvalue()


def openagi_report(tasks: dict[int, Any], judged: int, metrics: tuple[str, ...] | None = None) -> JobReport:
    """A report of all tasks, of which the first `judged` score 1 in everything that there is."""
    found = {name: [(key, 1.0, 1) for key in list(tasks)[:judged]] for name in metrics or ("feasible", "recovery")}
    for key in list(tasks)[:judged]:
        for metric_of in benchmark.overalls.values():
            if (metric := metric_of(tasks[key])) and not metrics:
                found.setdefault(metric, []).append((key, 1.0, 1))
    one = job()
    one.items = len(tasks)
    return group_report(found, benchmark, one, tasks)


def group_report(
    values: dict[str, Any], benchmark: Benchmark, one: Any = None, tasks: dict[int, Any] = TASKS
) -> JobReport:
    """A report with the groups and overall scores of a benchmark."""
    one = one or job()
    groups = split_by_group(one, values, benchmark, tasks)
    return empty_report(groups=groups, overall=measure_overalls(one, values, benchmark, tasks))


@pytest.mark.parametrize("judged", [185, 150])
def test_eighty_columns_hold_every_group_and_figure(openagi, judged):
    shown = print_report(openagi_report(openagi, judged))
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "…" not in shown
    report = openagi_report(openagi, judged)
    for groups in (report.groups or {}).values():
        for name, found in groups.items():
            (line,) = [one for one in shown.splitlines() if one.startswith(f"{name} ")]
            assert re.search(rf" {found.n:,}( |$)", line)
    if judged == 185:
        figures = sum(len(group.metrics) for groups in (report.groups or {}).values() for group in groups.values())
        assert shown.count("100.0 % [") >= figures
    assert ("incomplete" in shown) == (judged == 150)


def test_figures_are_those_of_the_report():
    values = VALUES | {"plan": VALUES["feasible"]}
    report = group_report(values, Grouped())
    lines = [" ".join(line.split()) for line in print_report(report).splitlines()]
    figures = as_json(report)
    low, high = figures["overall"]["proxies"]["over_metrics"]["ci95"]
    assert f"proxies 50.0 % [{100 * low:.1f}, {100 * high:.1f}] 2 50.0 %" in " ".join(lines)
    assert any(line.startswith("proxies 50.0 % [") and line.endswith("] 4") for line in lines)
    (a,) = [line for line in lines if line.startswith("a 2 ")]
    (b,) = [line for line in lines if line.startswith("b 3 ")]
    assert a.startswith("a 2 50.0 % [")
    low = 100 * figures["groups"]["kind"]["b"]["metrics"]["feasible"]["ci95"][0]
    assert b.startswith(f"b 3 100.0 % [{low:.1f}, 100.0]")


def test_the_two_overall_figures_are_not_taken_for_each_other():
    values = VALUES | {"ssim": [(0, 1.0, 10)]}
    report = group_report(values, Grouped())
    text = " ".join(print_report(report).split())
    found = as_json(report)["overall"]["proxies"]
    assert (found["over_metrics"]["value"], found["over_tasks"]["value"]) == (0.75, 0.625)
    assert text.index("75.0 % [") < text.index("62.5 % [") and "mean over metrics metrics mean over tasks items" in text


class OneGroup(Grouped):
    groups = {"all": lambda task: "one"}  # noqa: RUF012


def test_a_group_shows_the_overall_over_its_tasks():
    values = VALUES | {"ssim": [(0, 1.0, 10)]}
    report = group_report(values, OneGroup())
    _, table = print_report(report).split(f"{JOB} by all")
    assert "80.0 % [" in table and "62.5 % [" in table and "75.0 % [" not in table


def test_an_overall_that_lacks_a_metric_names_what_it_needs_and_shows_no_figure():
    values = {"feasible": VALUES["feasible"], "chrf": VALUES["chrf"]}
    report = group_report(values, Grouped())
    shown = print_report(report)
    assert f"{JOB}: the overall score 'proxies' was not computed: nothing was judged by ssim" in " ".join(shown.split())
    assert "overall scores" not in shown
    assert not any("items" in line and "proxies" in line for line in shown.splitlines()), "no column of it"


def test_names_of_groups_are_text():
    metric = Metric(0.5, (0.0, 1.0), 1)
    groups = {"kind": {"[red]x[/red]": GroupScores(1, {"[b]m[/b]": metric}, {})}}
    text = print_report(empty_report(groups=groups))
    assert "[red]x[/red]" in text and "[b]m[/b]" in text


def test_a_report_without_groups_prints_nothing():
    assert print_report(empty_report()) == ""
