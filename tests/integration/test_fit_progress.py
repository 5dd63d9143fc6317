"""The progress of fits in `lumos watch`, `lumos jobs` and `--follow`, from reports that a worker has stored."""

from __future__ import annotations

import json
import re

import pytest
from sqlalchemy import event, update

from db.engine.connection import now
from db.engine.lease import Lease
from db.models import JobRow, TrainingProgressRow
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queue.fence import beat
from db.queue.job_changes import pause
from lumos_queue.cli import live, output
from lumos_queue.cli.live import Progress
from lumos_queue.cli.watch_result import format_watched, result_of
from lumos_queue.live.figures import read_figures
from lumos_queue.live.fit_progress import describe_restarts, select_current
from lumos_queue.live.pace import Pace
from lumos_queue.live.watched_jobs import WatchedJob
from lumos_queue.records import FitPhase
from lumos_queue.reports.job_list import list_jobs
from lumos_queue.reports.listed_job import ListedJob
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.fits import HOST, LOADING, STEP_137, ReportedFit, change, reported_fit
from tests.integration.test_watch import render, watched_once
from tests.other_forms import find_other_forms


@pytest.fixture
def fit(database) -> ReportedFit:
    return reported_fit(database)


def screen(fit: ReportedFit, width: int = 140, height: int = 40) -> str:
    return "\n".join(line.rstrip() for line in render(watched_once(fit.database, fit.job), width, height))


def watched_job(fit: ReportedFit) -> WatchedJob:
    return watched_once(fit.database, fit.job).jobs[0]


def move_back(fit: ReportedFit, seconds: float) -> None:
    """Let the newest reports have been stored some seconds ago."""
    with fit.database.writer.begin() as connection:
        connection.execute(update(TrainingProgressRow).values(at=now() - seconds))


def test_a_screen_has_the_step_its_figures_the_phase_and_the_best_loss(fit):
    fit.report()
    text = screen(fit)
    step = "step 137 of 1,600 (8.6 %), 14 min left  loss 2.314  rate 0.019  gradient 0.812  3,120 tokens/s  1.2 GB"
    state = (
        f"training for 3 min 12 s on {HOST}; checkpoint at step 120, every 60 s; "
        "best development loss 1.920 at step 100, newest 1.950"
    )
    assert step in text and state in text and "0/3 items" in text
    assert "items/min" not in text and "nobody works" not in text
    assert find_other_forms(text, [fit.job]) == []


def test_the_phase_and_the_estimate_of_memory_are_there_before_the_first_step(fit):
    fit.report(LOADING, seconds=12.2)
    text = screen(fit)
    assert "estimated memory 3.1 GB" in text and f"loading for 12 s on {HOST}" in text and "step 0" not in text
    assert format_watched(watched_job(fit)).endswith(f"0/3 items  loading for 12 s on {HOST}")


def test_without_a_report_the_pace_is_in_items(fit):
    assert "0 items/min" in screen(fit) and "loading" not in screen(fit)


def test_figures_of_rewards_are_shown_where_they_are_reported(fit):
    fit.report(change(reward=0.4123, kl=0.0132, entropy=1.32, loss=None, dev_loss=None, best_step=None))
    assert "rate 0.019  gradient 0.812  reward 0.412  KL 0.013  entropy 1.320  3,120 tokens/s" in screen(fit)


def test_a_plain_line_and_the_shortest_form_have_step_time_left_and_loss(fit):
    fit.report()
    short = "step 137 of 1,600 (8.6 %), 14 min left  loss 2.314"
    assert format_watched(watched_job(fit)) == f"{fit.job}  running  0/3 items  {short}"
    lines = screen(fit, 120, 3).splitlines()
    assert short in lines[1], "one line for the job"


def test_the_remaining_time_is_that_of_the_fit_and_not_that_of_the_items(fit):
    moments = iter([0.0, 100.0])
    job = watched_job(fit)
    job.pace = Pace(lambda: next(moments))
    job.pace.observe(0, 0)
    job.pace.observe(1, 0)
    assert "5 min left" in format_watched(job), "three items of 100 s"
    fit.report()
    job.figures = watched_job(fit).figures
    assert format_watched(job).count("left") == 1 and "14 min left" in format_watched(job)


def test_restarts_are_counted_with_the_steps_that_were_repeated(fit):
    fit.report()
    for step in (136, 134):
        fit.take_again()
        fit.report(change(step=step, start_step=step))
    assert "continued 2 times: 3 steps were repeated" in screen(fit)
    assert describe_restarts([1]) == "continued 1 time: 1 step was repeated"
    assert describe_restarts([0, 0]) == "continued 2 times: no step was repeated"


def test_a_fit_without_a_worker_has_the_age_of_its_report_and_no_time_left(fit):
    fit.report(change(phase=FitPhase.EVALUATING))
    fit.end()
    move_back(fit, 200)
    text = screen(fit)
    assert "step 137 of 1,600 (8.6 %)  loss" in text and f"last report 3 min ago on {HOST}: evaluating" in text


def test_a_report_of_a_running_fit_that_is_old_has_its_age(fit):
    fit.report()
    move_back(fit, 300)
    text = screen(fit)
    assert re.search(rf"training for 8 min \d\d s on {HOST}, last report 5 min ago", text) and "9 min left" in text


def test_a_worker_that_loads_the_next_window_is_at_work(fit):
    fit.report()
    fit.end(1, 137)
    fit.take()
    fit.report(LOADING, seconds=5.0)
    text = screen(fit)
    assert f"loading for 5 s on {HOST}" in text and "step 137 of 1,600" in text
    assert listed(fit)[fit.job].remark.startswith("step 137 of 1,600")


def test_of_several_fits_those_at_work_are_shown_by_name(fit):
    fit.report(change(fit="planner", step=1600))
    fit.end(fit="planner")
    fit.take()
    fit.report(change(fit="grounder"))
    text = screen(fit)
    assert "grounder: step 137" in text and "grounder: training for" in text and "planner" not in text
    fit.end(fit="grounder")
    move_back(fit, 100)
    fit.take()
    fit.report(change(fit="tagger"))
    fit.end(fit="tagger")
    (newest,) = select_current(watched_job(fit).figures.fits)
    assert newest.progress.fit == "tagger", "without a fit at work, that of the newest report"


def test_between_two_windows_nobody_is_said_to_be_missing(fit):
    fit.report()
    fit.end(1, 137)
    assert watched_job(fit).waits == []
    move_back(fit, 60)
    (wait,) = watched_job(fit).waits
    assert wait.startswith("nobody works on it yet: 1 worker is idle")


def test_a_fit_that_waits_has_the_progress_of_its_rollouts(fit):
    fit.report(change(reward=0.4, step=4, steps=20))
    rollouts = new_job(fit.database, tasks=40, digest="cd" * 32)
    with fit.database.writer.begin() as connection:
        values = {"awaits": rollouts, "waiting": f"the rollouts of step 5: job {rollouts}"}
        connection.execute(update(JobRow).where(JobRow.id == fit.job).values(values))
    text = screen(fit)
    assert f"waits for the rollouts of step 5: job {rollouts}, 0/40" in text and "step 4 of 20 (20.0 %)" in text
    assert "training for" not in text
    assert f"the rollouts of step 5: job {rollouts}, 0/40" in format_watched(watched_job(fit))


def test_a_program_reads_the_same_values(fit):
    fit.report()
    (values,) = result_of(watched_job(fit))["fits"]
    assert json.loads(json.dumps(values)) == values
    assert (values["phase"], values["step"], values["steps"], values["loss"]) == ("training", 137, 1600, 2.3141)
    assert (values["host"], values["running"], values["accepted_step"], values["restarts"]) == (HOST, True, 0, [])
    other = new_job(fit.database, digest="cd" * 32)
    assert "fits" not in result_of(watched_once(fit.database, other).jobs[0])


def listed(fit: ReportedFit) -> dict[str, ListedJob]:
    with fit.database.engine.connect() as connection:
        jobs, _ = list_jobs(connection, parse_where(""), 20, Lease(Settings().lease_seconds))
    return {job.job: job for job in jobs}


def test_the_list_of_jobs_has_step_and_time_left_of_running_fits(fit):
    fit.report()
    second = reported_fit(fit.database, digest="cd" * 32)
    second.report(LOADING)
    jobs = listed(fit)
    assert jobs[fit.job].remark == "step 137 of 1,600, 14 min left" and jobs[second.job].remark == "loading"
    fit.end()
    assert listed(fit)[fit.job].fits is None, "no worker works on it"


def test_the_list_reads_the_reports_of_all_jobs_at_once(fit):
    fit.report()
    statements: list[str] = []

    def note(connection, cursor, statement, *_) -> None:
        statements.append(statement)

    event.listen(fit.database.engine, "before_cursor_execute", note)
    listed(fit)
    first = len(statements)
    for number in range(3):
        reported_fit(fit.database, digest=f"{number:064x}").report()
    statements.clear()
    assert len([job for job in listed(fit).values() if job.fits]) == 4
    event.remove(fit.database.engine, "before_cursor_execute", note)
    assert len(statements) == first and sum("training_progress" in statement for statement in statements) == 1


def test_steps_and_phases_are_progress_and_only_their_absence_is_a_stall(fit, monkeypatch, capsys):
    """Every read is the end of a period without progress, so that no test waits."""
    monkeypatch.setattr(live, "STALL_SECONDS", -1.0)
    monkeypatch.setattr(live, "FIT_STALL_SECONDS", -1.0)
    monkeypatch.setattr(output, "as_json", True)  # no lines but notices
    progress = Progress(fit.database, Settings(), fit.job)
    beat(fit.database, fit.who.session, [], {})
    for report in (LOADING, change(phase=FitPhase.PREPARING, step=0), STEP_137, change(step=138)):
        fit.report(report)
        progress.show()
        assert capsys.readouterr().err == "", report
    progress.show()
    assert capsys.readouterr().err.strip() == f"no step for -1 s: training for 3 min 12 s on {HOST}"
    fit.end()
    progress.show()
    capsys.readouterr()
    progress.show()
    assert "no item has finished for -1 s: 1 worker alive" in capsys.readouterr().err


def test_after_the_last_step_no_time_is_left_and_after_the_job_no_phase(fit):
    fit.report(change(phase=FitPhase.EXPORTING, step=1600, seconds_left=0.0))
    text = screen(fit)
    assert "step 1,600 of 1,600 (100.0 %)  loss" in text and "exporting for 3 min 12 s" in text
    assert listed(fit)[fit.job].remark == "step 1,600 of 1,600"
    fit.end()
    with fit.database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == fit.job).values(state="done"))
    text = screen(fit)
    assert "step 1,600 of 1,600 (100.0 %)  loss" in text and "exporting" not in text and "last report" not in text


def test_a_paused_job_has_its_last_step(fit):
    fit.report()
    fit.end()
    pause(fit.database, fit.job)
    assert "step 137 of 1,600 (8.6 %)" in format_watched(watched_job(fit))


def test_a_job_of_another_kind_reads_no_reports(database):
    job = new_job(database)
    with database.engine.connect() as connection:
        assert read_figures(connection, get_job(connection, job)).fits == ()
