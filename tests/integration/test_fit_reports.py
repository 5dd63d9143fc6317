"""The course of a fit in its report: restarts, early stops, exported weights, estimates, and marks in the curve."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import etree

from db.engine.lease import Lease
from db.queries.jobs import get_job
from lumos_queue.pages.blocks import Document, Figure
from lumos_queue.pages.html import render_html
from lumos_queue.pages.limits import LEVELS
from lumos_queue.pages.material import Material, read_material
from lumos_queue.pages.sections.overview import overview
from lumos_queue.pages.sections.training import fits_and_models
from lumos_queue.reports.fit_curve import DevLoss, FitCurve, average_steps, find_best, part_size, read_dev_losses
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.training import collect_training_figures
from lumos_queue.settings import Settings
from tests.fits import ReportedFit, change, reported_fit
from tests.integration.test_report_sections import lines
from tests.other_forms import find_other_forms, read_texts
from tests.page_parts import read_numbers

ESTIMATE = {"weights": 10**9, "gradients": 0, "optimizer": 5 * 10**8, "total": 3_100_000_000}
ESTIMATE |= {"micro_batch": 8, "length": 1024}


@pytest.fixture
def fit(database) -> ReportedFit:
    return reported_fit(database, items=6)


def read(fit: ReportedFit) -> Material:
    with fit.database.engine.connect() as connection:
        row = get_job(connection, fit.job)
        return read_material(connection, [row], Lease(Settings().lease_seconds))


def run_to_the_end(fit: ReportedFit) -> None:
    """Work on all items: a fit of 12 windows of 50 steps, of which it did two; the worker was replaced twice."""
    fit.end_with({"counts": {"train: conversations": 1234}, "estimate": ESTIMATE})
    fit.take()
    fit.report(change(step=45))
    for step in (43, 40):
        fit.take_again()
        fit.report(change(step=step, start_step=step))
    fit.end(1, 50, dev_loss=1.92, evaluations=[[25, 2.4], [50, 1.92]])
    fit.take()
    fit.end(51, 100, dev_loss=2.05)
    for _ in range(2):
        fit.take()
        fit.end(stopped_early=True, loss=None, step=100)
    fit.take()
    fit.end_with({"model": "local:/m", "kept": {"keep": "best", "step": 50, "dev_loss": 1.92}})


def test_the_overview_has_the_course_of_a_fit(fit):
    run_to_the_end(fit)
    text_lines = lines(overview(read(fit)))
    assert "continued 2 times: 5 steps were repeated (after step 43, 40)" in text_lines
    assert "stopped early after step 100: 2 of 4 windows were not needed" in text_lines
    assert "exported weights: the best step, 50, development loss 1.9200" in text_lines
    memory = "estimated memory: 3.1 GB (weights 1.0 GB, optimizer 500.0 MB, others 1.6 GB)"
    assert f"{memory}, with 8 conversations of 1,024 tokens in a forward pass" in text_lines
    assert "train: conversations: 1,234" in text_lines
    assert find_other_forms("\n".join(text_lines), [fit.job]) == []
    assert not any(line.startswith(("kept", "stopped early: ", "estimate:")) for line in text_lines)


def test_weights_of_the_last_step_are_named_so(fit):
    fit.end_with({"kept": {"keep": "last", "step": 1600, "dev_loss": None}})
    assert "exported weights: the last step, 1,600" in lines(overview(read(fit)))


def curve_of(fit: ReportedFit) -> Figure:
    (figure,) = [block for block in fits_and_models(read(fit), LEVELS[0]) if isinstance(block, Figure)]
    return figure


def test_the_curve_has_windows_restarts_and_development_losses(fit):
    run_to_the_end(fit)
    figure = curve_of(fit)
    svg = etree.fromstring(figure.svg)
    tips = [line.findtext("title") for line in svg.iterfind(".//svg[@class='marks']/line")]
    assert tips == ["end of a window: step 50", "end of a window: step 100"] + [
        f"continued after step {step}" for step in (43, 40)
    ]
    (second,) = svg.iterfind(".//polyline[@class='curve c1']")
    assert len(second.get("points").split()) == 3
    (best,) = svg.iterfind(".//circle[@class='best']")
    assert best.findtext("title") == "lowest development loss, after step 50: 1.9200"
    (x,) = read_numbers(svg, ".//circle[@class='best']", "cx")
    assert x == pytest.approx(100 * (50 - 2) / (100 - 2), abs=0.01), "parts of two steps end at 2, 4, … 100"
    assert [name for name, _ in figure.legend] == ["c0", "c1", "window-end", "restart"]
    assert "lowest development loss, after step 50: 1.9200" in svg.findtext("desc")
    assert list(figure.table.heads) == ["steps", "loss", "development loss", "events"]
    rows = {row[0]: row[2:] for row in figure.table.rows}
    assert rows["steps 49 to 50"] == ["1.9200", "end of a window, lowest development loss"]
    assert rows["steps 43 to 44"] == ["", "continued"] and rows["steps 1 to 2"] == ["", ""]


def test_the_figures_of_a_long_curve_have_the_forms_of_all(fit):
    fit.end(1, 1500, dev_loss=1.5)
    figure = curve_of(fit)
    assert figure.table.rows[-1][0] == "steps 1,476 to 1,500"
    page = render_html(Document("t", [figure], [], "m"))
    assert "steps 1,476 to 1,500" in page and find_other_forms(read_texts(page), [fit.job]) == []


def test_the_curve_of_a_fit_without_such_facts_is_as_before(fit):
    fit.end(1, 1)
    fit.take()
    fit.end(2, 2)
    figure = curve_of(fit)
    assert (list(figure.table.heads), list(figure.legend)) == (["steps", "loss"], []), (
        "windows of one step have no marks"
    )
    assert "c1" not in figure.svg and "window-end" not in figure.svg
    assert etree.fromstring(figure.svg).find(".//circle[@class='best']") is None


def test_the_report_of_a_job_of_an_earlier_version_has_the_same_keys(fit):
    fit.end(1, 2, dev_loss=1.5)
    with fit.database.engine.connect() as connection:
        values: dict[str, Any] = as_json(collect_training_figures(connection, fit.job))
    assert list(values) == ["windows", "fits", "training_steps"]
    assert list(values["fits"][0])[-2:] == ["memory", "dev_loss"]
    assert json.loads(json.dumps(values)) == values


def test_restarts_are_in_the_json_of_the_report(fit):
    run_to_the_end(fit)
    with fit.database.engine.connect() as connection:
        values = as_json(collect_training_figures(connection, fit.job))
    assert [{**restart, "at": 0} for restart in values["restarts"]] == [
        {"fit": "", "step": 43, "lost_steps": 2, "at": 0},
        {"fit": "", "step": 40, "lost_steps": 3, "at": 0},
    ]
    assert values["windows"][-1]["kept"] == {"keep": "best", "step": 50, "dev_loss": 1.92}


def test_a_curve_has_at_most_sixty_parts_and_an_infinite_loss_is_none():
    steps = [(step, float("inf") if step == 100 else 1.0) for step in range(1, 1002)]
    size = part_size(len(steps))
    parts = list(average_steps(steps, size))
    assert (size, len(parts)) == (17, 59)
    assert [part for part in parts if part.value is None] == [(86, 102, None)] and parts[-1][:2] == (987, 1001)
    assert FitCurve("", "loss", parts).part_size == 17
    assert find_best([DevLoss(5, 1.0), DevLoss(9, 1.0), DevLoss(7, 2.0)]) == (5, 1.0)
    assert find_best([]) is None


def test_a_development_loss_that_is_no_number_is_left_out():
    assert read_dev_losses({"evaluations": [[50, 1.5], [100, None], [150, float("nan")]]}) == [(50, 1.5)]
    assert read_dev_losses({"step": 50, "dev_loss": 1.5}) == [(50, 1.5)] and read_dev_losses({"counts": {}}) == []
