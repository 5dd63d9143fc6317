"""The page of a training job while it runs: figures, the curve that grows, and the rollouts that it waits for."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from db.models import JobRow
from lumos_queue.live import fit_curves
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.records import FitPhase
from lumos_queue.settings import Settings
from lumos_queue.web.live import LIVE
from lumos_queue.web.views.live_job import CURVES, show_live_job
from tests.claims import new_job
from tests.fits import HOST, LOADING, ReportedFit, change, reported_fit
from tests.other_forms import find_other_forms, read_texts


@pytest.fixture
def fit(database) -> ReportedFit:
    return reported_fit(database)


def watch_curves(fit: ReportedFit) -> WatchedJobs:
    watch = WatchedJobs(Settings(), [fit.job], with_curves=True)
    read(watch, fit)
    return watch


def read(watch: WatchedJobs, fit: ReportedFit) -> None:
    with fit.database.engine.connect() as connection:
        watch.read(connection)


def show(fit: ReportedFit) -> dict[str, str]:
    watch = watch_curves(fit)
    return dict(show_live_job(watch.jobs[0], watch))


def test_an_open_page_shows_each_step_and_a_curve_that_grows(fit, served, page):
    page.goto(served.login_url)
    page.goto(f"{served.url}/jobs/{fit.job}")
    live, curves = page.locator("#live"), page.locator("#curves")
    fit.report(LOADING, 12.0)
    live.get_by_text("loading for 12 s").wait_for()
    live.get_by_text("3.1 GB").wait_for()
    fit.report(change(step=2, best_step=None, best_dev_loss=None), points=[(1, 4.0), (2, 3.5)])
    live.get_by_text("2 of 1,600 (0.1 %), 14 min left").wait_for()
    curves.locator("circle.c0").nth(1).wait_for()
    curves.get_by_text("The numbers").click()
    curves.get_by_role("cell", name="3.5000").wait_for()
    fit.report(change(step=3, best_step=None, best_dev_loss=None), points=[(1, 4.0), (2, 3.5), (3, 3.2)])
    curves.get_by_role("cell", name="3.2000").wait_for()  # it stays unfolded
    fit.end(1, 3, dev_loss=3.3)
    fit.take()
    fit.report(change(step=4, start_step=3, best_step=3, best_dev_loss=3.3), points=[(4, 3.1)])
    curves.get_by_role("row", name="step 3").get_by_text("end of a window, lowest development loss").wait_for()
    assert curves.locator("circle.best").count() == 1 and curves.locator("line.window-end").count() == 1
    fit.take_again()
    fit.report(change(step=4, start_step=3, best_step=3, best_dev_loss=3.3), points=[(4, 3.1)])
    live.get_by_text("continued 1 time: 1 step was repeated").wait_for()
    assert page.locator("progress[aria-label='Optimizer steps']").get_attribute("max") == "1600"


def test_the_page_has_the_forms_of_all_figures_and_no_calls(fit):
    fit.report(points=[(137, 2.3141)])
    parts = show(fit)
    text = read_texts(parts[LIVE] + parts[CURVES])
    assert find_other_forms(text, [fit.job]) == []
    for words in ("137 of 1,600 (8.6 %), 14 min left", "3,120 tokens/s", f"training for 3 min 12 s on {HOST}"):
        assert words in text
    assert "0 calls" not in text and "items/s" not in text


def test_accepted_steps_and_reported_ones_are_one_curve_of_bounded_size(fit):
    fit.end(1, 600, dev_loss=1.9)
    fit.take()
    points = [(step, 1.0) for step in range(601, 701)]
    fit.report(change(step=700, best_step=600, best_dev_loss=1.9), points=points)
    watch = watch_curves(fit)
    (curve,) = watch.jobs[0].curves
    fit.report(change(step=701), points=points)
    read(watch, fit)
    assert (curve.part_size, len(curve.parts)) == (12, 59) and curve.parts[0].first == 1
    assert [part[:2] for part in curve.parts[49:52]] == [(589, 600), (601, 612), (613, 624)]
    assert curve.parts[-1] == (697, 700, 1.0) and curve.parts[0].value == pytest.approx(3.33, abs=0.01)
    assert (curve.window_ends, curve.best, curve.dev_losses) == ([600], (600, 1.9), [(600, 1.9)])
    assert watch.jobs[0].curves[0].parts[-1].last == 701, "the latest step is there, though it is no point"


def test_the_accepted_steps_are_read_again_only_when_there_are_new_ones(fit, monkeypatch):
    reads: list[str] = []
    read_curve = fit_curves.read_curve
    monkeypatch.setattr(fit_curves, "read_curve", lambda *args: reads.append(args[1]) or read_curve(*args))
    fit.report(change(step=1), points=[(1, 2.0)])
    watch = watch_curves(fit)
    for step in (2, 3):
        fit.report(change(step=step), points=[(1, 2.0), (step, 2.0)])
        read(watch, fit)
    assert len(reads) == 1
    fit.end(1, 3)
    read(watch, fit)
    assert len(reads) == 2 and watch.jobs[0].curves[0].parts[-1].last == 3


def test_a_curve_is_sent_again_only_when_it_has_changed(fit, served):
    fit.report(points=[(137, 2.3)])
    events: list[str] = []
    with served.client().stream("GET", f"/jobs/{fit.job}/live") as answer:
        for line in answer.iter_lines():
            events += [line] * line.startswith("event:")
            if events.count("event: live") == 3:
                break
            if line == "event: live":
                fit.report(points=[(137, 2.3)], seconds=200.0 + len(events))
    assert events[:2] == ["event: live", "event: curves"] and events.count("event: curves") == 1


def test_a_curve_of_rewards_is_one_of_rewards_before_its_first_item_ends(fit):
    fit.report(change(reward=0.4, step=1, loss=0.2), points=[(1, 0.4)])
    assert "Reward over optimizer steps" in show(fit)[CURVES]


def test_a_page_of_a_fit_without_steps_has_no_curve(fit):
    fit.report(LOADING, points=())
    assert set(show(fit)) == {LIVE}


def test_the_page_links_to_the_rollouts_that_a_fit_waits_for(fit):
    fit.report(change(reward=0.4, phase=FitPhase.SAVING))
    rollouts = new_job(fit.database, tasks=40, digest="cd" * 32)
    with fit.database.writer.begin() as connection:
        values = {"awaits": rollouts, "waiting": f"the rollouts of step 5: job {rollouts}"}
        connection.execute(update(JobRow).where(JobRow.id == fit.job).values(values))
    text = show(fit)[LIVE]
    assert f'<a href="/jobs/{rollouts}" id="awaited-job">{rollouts}</a>, 0 of 40 items' in text
    assert "saving for" not in text


def test_the_list_of_jobs_has_the_step(fit, served):
    fit.report()
    assert "running</span>: step 137 of 1,600, 14 min left" in served.client().get("/jobs").text
