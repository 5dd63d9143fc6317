"""The tables of tool agents as data: every published row, figures that fit their averages, and what each row needs."""

from __future__ import annotations

import shlex
from itertools import pairwise

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.comparison import TOOL_KEYS, papers_tables
from lumos_queue.papers.tool_results import MEAN, SUBSETS, TOOL_TABLES
from lumos_queue.papers.visual_rows import VISUAL
from lumos_queue.records import Role
from lumos_queue.reports.json_values import as_json

ROWS = [(table, row) for table in TOOL_TABLES.values() for row in table.rows]
NAMES = {
    "sum2act-pass": ["ReAct-CoT", "DFSDT", "Sum2Act", "Sum2Act-decomposed"],
    "sum2act-win": [
        "DFSDT-vs-ReAct-CoT",
        "Sum2Act-vs-ReAct-CoT",
        "Sum2Act-vs-DFSDT",
        "Sum2Act-decomposed-vs-ReAct-CoT",
    ],
    "toolbench-pass": ["ReACT", "DFSDT"],
    "toolbench-win": ["DFSDT-vs-ReACT"],
    "stabletoolbench-sopr": ["CoT", "DFS"],
}


def test_every_published_row_is_there():
    assert {key: [row.slug for row in table.rows] for key, table in TOOL_TABLES.items()} == NAMES
    assert tuple(SUBSETS) == tuple(open_benchmark("toolbench").test_splits)
    averages = {(table.key, row.slug): row.figures[MEAN] for table, row in ROWS}
    assert list(averages.values()) == [
        "41.1",
        "67.0",
        "70.0",
        "70.7",
        "65.8",
        "67.8",
        "54.6",
        "68.8",
        "40.2",
        "64.8",
        "64.3",
        "46.6",
        "63.0",
    ]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=lambda one: getattr(one, "slug", getattr(one, "key", "")))
def test_a_printed_average_is_the_mean_of_the_six(table, row):
    figures = row.figures
    assert list(figures) == [*SUBSETS, MEAN]
    mean = sum(float(figures[subset]) for subset in SUBSETS) / 6
    assert abs(mean - float(figures[MEAN])) <= 0.0501, "a figure that is wrong by 0.4 is further from it"


@pytest.mark.parametrize(("table", "row"), ROWS, ids=lambda one: getattr(one, "slug", getattr(one, "key", "")))
def test_every_row_is_a_configuration_that_can_be_measured(table, row):
    assert table.metric in open_benchmark("tooleval").metrics
    assert (row.against is not None) == (table.metric == "win")
    for method in filter(None, (row.method, row.against)):
        formulation = FORMULATIONS.load(method.formulation)
        assert formulation.functions
        for name, value in (*method.settings.items(), *method.published.items()):
            formulation.settings[name].read(name, value)
        assert ("protocol" in method.published) == (method.formulation in ("react", "dfsdt"))


def test_every_row_that_was_not_run_names_its_need():
    tables = {one["table"]: one["rows"] for one in as_json(papers_tables(None, TOOL_KEYS))}
    assert set(tables) == {*TOOL_TABLES, VISUAL}
    for table, row in ROWS:
        shown = [one for one in tables[table.key] if one["row"] == row.name]
        assert [one["split"] for one in shown] == [*SUBSETS, MEAN]
        assert shown[-1]["status"] == "not run: needs all six subsets, complete"
        for one in shown[:-1]:
            assert one["status"].startswith("not run: needs lumos evaluate toolbench ")
            assert all(command in one["status"] for command in one["commands"])
            *evaluations, judging = map(shlex.split, one["commands"])
            methods = [row.method, row.against] if row.against else [row.method]
            for command, method in zip(evaluations, methods, strict=True):
                formulation = FORMULATIONS.load(method.formulation)
                given = _options(command)
                assert given["--split"] == [one["split"]] and given["--formulation"] == [method.formulation]
                assert given["--role"] == [f"{role}=URL" for role in formulation.roles]
                settings = dict(value.split("=") for value in given.get("--setting", []))
                defaults = {name: setting.default for name, setting in formulation.settings.items()}
                assert method.settings.items() <= (defaults | settings).items()
                assert method.published.items() <= settings.items(), "the published code's choices are named"
            assert judging[:2] == ["lumos", "judge"] and _options(judging)["--role"] == [f"{Role.JUDGE}=URL"]
            assert ("--against" in judging) == (row.against is not None)
    assert [one["row"] for one in tables[VISUAL]] == [
        "conditioned generation",
        "ask a cat's colour, then recolour a dog",
        "webcam image, then style transfer",
        "recipe search, then dish image",
    ]
    assert all(one["status"].startswith("not run: needs lumos evaluate sum2act_visual ") for one in tables[VISUAL])


def _options(words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairwise(words):
        if name.startswith("--"):
            found.setdefault(name, []).append(value)
    return found
