"""The list of jobs: what it says of them, from the kept sums alone, whatever their number. On both databases."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from rich.console import Console
from sqlalchemy import event, insert, update

from db.engine.lease import Lease
from db.models import ItemSum, JobRow, ScoreSum
from db.queries.filters import Filter, parse_job_where
from db.queries.jobs import get_job
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.figures import count_scores
from lumos_queue.api.jobs import _line
from lumos_queue.cli.job_list import print_jobs
from lumos_queue.cli.watch_result import format_watched, print_results
from lumos_queue.cli.watch_screen import Screen
from lumos_queue.errors import SpecError
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.reports.job_list import list_jobs
from lumos_queue.reports.listed_job import ListedJob
from lumos_queue.reports.scores import job_scores
from lumos_queue.settings import Settings
from lumos_queue.web.live import LIVE
from lumos_queue.web.views.live_job import show_live_job
from tests.claims import claim, finish, holder, new_job
from tests.explorers import call_explorer
from tests.other_forms import find_other_forms, read_texts

LEASE = Lease(15.0)


def listed(database, limit: int = 20, where: str = "", before: str = "") -> tuple[list[ListedJob], bool]:
    with database.engine.connect() as connection:
        return list_jobs(connection, parse_job_where(where), limit, LEASE, before)


def change(database, job: str, **values) -> None:
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(**values))


def add_scores(database, job: str, scores: list[tuple[float, int]], metric: str = "accuracy") -> None:
    """Sums as workers leave them, over two sessions."""
    with database.writer.begin() as connection:
        for number, (value, trials) in enumerate(scores):
            key = {"job": job, "session": number, "metric": metric, "version": "1"}
            connection.execute(insert(ScoreSum).values(**key, value=value, trials=trials, episodes=1))


def test_a_job_is_listed_with_its_progress_and_the_score_it_can_still_reach(database):
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who, 2)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(items[0])]))
    (row,), more = listed(database)
    assert (row.job, row.done, row.items, row.real_state, more) == (job, 1, 4, "running", False)
    assert row.score.bounds == (0.25, 1.0) and row.score.judged == 1


@pytest.mark.parametrize("graded", [False, True])
def test_its_score_and_interval_are_those_of_the_report(database, graded):
    random.seed(int(graded))
    for missing in (0, 3):
        job = new_job(database, tasks=20 + missing, digest=f"{missing:064x}")
        scores = [(random.random() if graded else float(random.random() < 0.7), 1 + graded * n % 3) for n in range(20)]
        add_scores(database, job, scores)
        listed_score = next(row for row in listed(database)[0] if row.job == job).score
        with database.engine.connect() as connection:
            assert len(count_scores(connection, job)["accuracy"]) > 1
            reported = job_scores(connection, get_job(connection, job), ["accuracy"])
        assert listed_score.value == pytest.approx(reported.value, abs=2e-6)
        assert listed_score.ci95 == pytest.approx(reported.ci95, abs=2e-6)
        assert listed_score.bounds == (pytest.approx(reported.bounds, abs=2e-6) if reported.bounds else None)


@pytest.mark.parametrize(
    "changes",
    [{"spec": {"infer": {"samples": 3}}}, {"origin": "derived"}, {"formulation": "tooleval"}],
)
def test_scores_that_depend_on_each_other_have_no_interval_here(database, changes):
    job = new_job(database, tasks=2)
    add_scores(database, job, [(1.0, 1), (0.0, 1)])
    change(database, job, **changes)
    (row,), _ = listed(database)
    assert (row.score.value, row.score.ci95) == (0.5, None)


@pytest.mark.parametrize(("chosen", "by_outcome"), [("score=0", True), ("split=test", False), ("", False)])
def test_a_score_on_tasks_chosen_by_outcome_is_marked(database, chosen, by_outcome, capsys):
    job = new_job(database, tasks=2)
    add_scores(database, job, [(1.0, 1), (0.0, 1)])
    change(database, job, chosen=chosen)
    jobs, _ = listed(database)
    assert jobs[0].by_outcome is by_outcome
    print_jobs(jobs, False)
    said = capsys.readouterr().out
    assert ("50.0 of chosen" in said, "50.0 [" in said) == (by_outcome, not by_outcome)
    reward = replace(jobs[0], score=replace(jobs[0].score, value=-2.5, ci95=None))  # it is no share
    print_jobs([reward], False)
    assert "mean -2.5" in capsys.readouterr().out


def test_a_mean_that_is_no_share_is_not_in_per_cent_anywhere(database, tmp_path, capsys):
    job = new_job(database, tasks=2, main_metric="reward")
    add_scores(database, job, [(400.0, 1), (640.0, 1)], "reward")
    watched = WatchedJobs(Settings(), [job])
    with database.engine.connect() as connection:
        watched.read(connection)
    print_results(watched.jobs)
    print_jobs(listed(database)[0], False)
    console = Console(file=io.StringIO(), width=160, height=60, legacy_windows=False)
    console.print(Screen(watched), height=60)
    with call_explorer(database, home=tmp_path) as explorer:
        pages = [explorer.client().get(path).text for path in ("/jobs", f"/jobs/{job}")]
    printed = capsys.readouterr().out.splitlines()
    texts = [
        printed[0],
        printed[-1],
        console.file.getvalue(),  # type: ignore[attr-defined]
        format_watched(watched.jobs[0]),
        *map(read_texts, [*pages, show_live_job(watched.jobs[0], watched)[LIVE]]),
        _line(listed(database)[0][0]),
    ]
    assert [text for text in texts if "mean 520" not in text or find_other_forms(text, [job])] == []


def test_a_score_that_the_sums_do_not_tell_is_left_out(database):
    job = new_job(database, tasks=2)
    add_scores(database, job, [(1.0, 1), (0.0, 1)])
    change(database, job, spec={"infer": {"draw": 2}})
    assert listed(database)[0][0].score is None
    other = new_job(database, tasks=1, digest="cd" * 32, main_metric="reward")
    add_scores(database, other, [(-2.5, 1)], "reward")
    score = listed(database)[0][0].score
    assert (score.value, score.ci95) == (-2.5, None)
    nan = new_job(database, tasks=1, digest="ef" * 32)
    if not database.is_sqlite:  # which stores none
        add_scores(database, nan, [(float("nan"), 1)])
    assert listed(database)[0][0].score is None


def test_an_infra_error_makes_a_job_incomplete(database):
    job = new_job(database, tasks=3)
    with database.writer.begin() as connection:
        for ending, items in (("answered", 2), ("infra_error", 1)):
            key = {"job": job, "session": 1, "state": "done", "ending": ending, "subgoals": 0, "replies": 0}
            connection.execute(insert(ItemSum).values(**key, items=items))
    change(database, job, state="done")
    (row,), _ = listed(database)
    assert (row.done, row.real_state, row.reason) == (3, "incomplete", "1 without a result")


def test_pages_go_backwards_without_a_gap_also_among_jobs_of_one_instant(database):
    jobs = [new_job(database, digest=f"{number:064x}") for number in range(7)]
    for job in jobs:
        change(database, job, created_at=1000.0)
    seen, before = [], ""
    while True:
        page, more = listed(database, 3, before=before)
        seen += [row.job for row in page]
        if not more:
            break
        before = page[-1].job
    assert seen == sorted(jobs, reverse=True)
    with pytest.raises(SpecError, match="--before takes the whole id"):
        listed(database, before="nope")


def test_filters_of_model_and_state_look_through_all_jobs(database, monkeypatch):
    monkeypatch.setattr("lumos_queue.reports.job_list._PAGE", 2)
    jobs = [new_job(database, digest=f"{number:064x}") for number in range(5)]
    for number, job in enumerate(jobs):
        roles = {"planner": f"openai://h:1?model=org/Model-{number % 2}", "qa": "tgi://model-9:1"}
        change(database, job, created_at=float(number), spec={"infer": {"agent": {"roles": roles}}})
    change(database, jobs[0], state="paused")
    assert [row.job for row in listed(database, where="model~model-1")[0]] == [jobs[3], jobs[1]]
    assert len(listed(database, where="model=tgi://model-9:1")[0]) == 5, "of any role"
    assert [row.job for row in listed(database, where="model!=Model-1")[0]] == jobs[::-2]
    assert listed(database, 1, where="model~MODEL-0")[1], "there are older ones"
    assert [row.job for row in listed(database, where="state=paused")[0]] == [jobs[0]]
    assert [row.job for row in listed(database, where="state!=paused model~model-0")[0]] == [jobs[4], jobs[2]]
    assert [row.job for row in listed(database, where="since=1970-01-01T00:00:01 until=1970-01-01T00:00:03")[0]] == [
        jobs[2],
        jobs[1],
    ]
    assert listed(database)[0][0].models == {"planner": "Model-0"}


def test_a_page_costs_as_many_queries_as_one_job(database):
    sent: list[str] = []
    counts = []
    for number in range(8):
        job = new_job(database, digest=f"{number:064x}")
        add_scores(database, job, [(1.0, 1)])
        if number in (0, 7):
            with database.engine.connect() as connection:
                event.listen(connection, "before_cursor_execute", lambda *arguments: sent.append(arguments[2]))
                sent.clear()
                assert len(list_jobs(connection, Filter(), 20, LEASE)[0]) == number + 1
                counts.append(len(sent))
                assert not any(" FROM item " in query or " FROM episode" in query for query in sent), (
                    "only sums are read"
                )
    assert counts[0] == counts[1] <= 10
