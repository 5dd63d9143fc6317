"""OpenAGI's tables: all 120 published figures, what each needs, and figures of a stored job beside them."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from lumos_queue.cli.main import app
from lumos_queue.papers.comparison import papers_tables
from lumos_queue.papers.openagi_protocol import SCHEMAS
from lumos_queue.papers.openagi_results import METRICS, OVERALL, PLANNER_TABLES, TUNED
from lumos_queue.reports.json_values import as_json
from tests import tiny_scores
from tests.integration.test_model_synthesis_jobs import report_of, run_job, write_rules

ROWS = [row for table in PLANNER_TABLES.values() for row in table.rows]


def test_all_figures_are_there_and_each_overall_is_the_mean_of_its_three_metrics():
    assert [len(table.rows) for table in PLANNER_TABLES.values()] == [6, 12, 6, 6]
    assert sum(len(row.figures) for row in ROWS) == 120
    for row in ROWS:
        figures = {name: float(value) for name, value in row.figures.items()}
        assert all(0 <= one <= 1 for one in figures.values())
        mean = sum(figures[name] for name in METRICS) / 3
        assert figures[OVERALL] == pytest.approx(mean, abs=0.000301), row.name


def test_every_figure_that_was_not_run_names_its_need():
    tables = as_json(papers_tables(None, PLANNER_TABLES))
    rows = [one for table in tables for one in table["rows"]]
    assert len(rows) == 120 and all(one["status"].startswith("not run: needs ") for one in rows)
    for row in ROWS:
        (need,) = {one["status"] for one in rows if one["row"] == row.name}
        if row.schema in TUNED:
            assert "never released" in need and row.schema in need
        else:
            assert f"--setting schema={SCHEMAS[row.schema][0]} " in need and row.model in need


@pytest.fixture
def weights(tmp_path, monkeypatch):
    made = {"CLIP": tiny_scores.make_clip, "BERT": tiny_scores.make_bert, "VIT": tiny_scores.make_vit}
    for name, make in made.items():
        (folder := tmp_path / name).mkdir()
        monkeypatch.setenv(f"LUMOS_{name}_WEIGHTS", str(make(folder)))


def shown(folder, what: str) -> list[dict]:
    done = CliRunner().invoke(app, ["papers", what, "--json"], env={"LUMOS_HOME": str(folder)})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["tables"][0]["rows"]


def test_figures_of_a_stored_job_stand_beside_the_published_ones(tmp_path, weights):
    """The labelled split has tasks of each metric: 2 of pictures, 1 of a picture from a text, 17 of texts."""
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "zero-shot"), "zero-shot")
    report = report_of(database, job)
    database.close()
    rows = {one["column"]: one for one in shown(tmp_path, "openagi-1/GPT-4-zero-shot")}
    assert {column: one["ours"]["n"] for column, one in rows.items()} == {
        "CLIP": "1",
        "BERT": "17",
        "ViT": "2",
        "overall": "20",
    }
    for column, metric in METRICS.items():
        assert rows[column]["ours"]["value"] == report["metrics"][metric]["value"]
        assert rows[column]["ours"]["job"] == job
    mean = sum(rows[column]["ours"]["value"] for column in METRICS) / 3
    assert rows["overall"]["ours"]["value"] == pytest.approx(mean, abs=1e-5)
    low, high = rows["overall"]["ours"]["ci95"]
    assert 0 <= low < mean < high <= 1
    assert report["overall"]["paper"]["over_metrics"]["value"] == rows["overall"]["ours"]["value"]
    for said in (
        "other tasks: split is labelled, not heldout",
        "other weights: planner is scripted, not GPT-4",
        "training unknown",
        "other settings: schema is zero-shot, not zero-shot-paper; feasibility is types, not released; parser is names",
        "samples is 2, not 100",
        "other weights of scores: VIT@",
        "other experts: oracle",
        "other data: generated",
    ):
        assert said in rows["ViT"]["status"]
    assert "distance" in rows["ViT"]["note"] and not rows["BERT"]["note"]
    other = shown(tmp_path, "openagi-1/GPT-4-few-shot")
    assert all("ours" not in one for one in other), "of another schema nothing was run"
    text = CliRunner().invoke(app, ["papers", "openagi-1"], env={"LUMOS_HOME": str(tmp_path)}).stdout
    assert re.search(r"ViT +0\.5058 +1\.0000 \[0\.\d{4}, 1\.0000\] +2", text), text


def test_a_job_without_weights_fills_no_column(tmp_path):
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "zero-shot"), "zero-shot")
    database.close()
    for one in shown(tmp_path, "openagi-1/GPT-4-zero-shot"):
        assert one["status"].startswith(f"not run: job {job} has no ") and "needs their weights" in one["status"]
