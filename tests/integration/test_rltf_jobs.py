"""Jobs that learn from the rewards of rollouts: they wait for ordinary evaluations, and hold nothing meanwhile."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import redis
from sqlalchemy import text

from db.queue.job_changes import cancel, pause, resume
from db.queue.schedule import begin_work, runnable_jobs
from db.queue.training_steps import list_feedback
from lumos_queue.deployment.database import database
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.settings import read_settings
from tests.integration.test_incomplete import lumos, result  # noqa: F401 - the fixture
from tests.rltf_jobs import OPENAGI, begin_fit
from tests.services import wait_until
from tests.stored_rows import state
from tests.tiny_planners import write_planner
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.run import run_slice


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> Path:
    return write_planner(tmp_path_factory.mktemp("planner") / "start")


@pytest.fixture
def fit(planner, tmp_path):
    with begin_fit(tmp_path / "home", planner) as begun:
        yield begun


def test_a_fit_does_the_evaluations_that_it_waits_for(lumos, planner, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.1")
    wanted = [
        "train",
        "rltf",
        "openagi",
        "--from",
        str(planner),
        "--folder",
        str(tmp_path / "fit"),
        "--split",
        "feedback",
        "--limit",
        "6",
        "--epochs",
        "1",
        "--batch",
        "3",
        "--beams",
        "3",
        "--rate",
        "0.01",
        "--tool",
        "experts=oracle:",
        "--option",
        "samples=1",
        "--setting",
        "goal=free",
    ]
    ran = lumos(*wanted)
    assert ran.code == 0, ran.err
    assert "waits" not in ran.err and "goes on" not in ran.err, "waiting for its own rollouts is no outage"
    assert max(len(line) for line in ran.out.splitlines() if "/" not in line) <= 80, "except paths"
    listed = {one["job"]: one for one in result(lumos("jobs", "--json"))["jobs"]}
    (job,) = [name for name, one in listed.items() if one["kind"] == "train"]
    report = result(lumos("report", job, "--json"))
    assert (report["state"], report["complete"], report["finished"]) == ("done", True, 4)

    steps = report["feedback_steps"]
    assert [one["step"] for one in steps] == [1, 2]
    checkpoint = json.loads((tmp_path / "fit" / "steps" / "step-000002" / "state.json").read_text())
    assert steps == checkpoint["history"]
    with database(read_settings()) as opened, opened.engine.connect() as connection:
        viewed = connection.execute(text("SELECT * FROM v_feedback_steps ORDER BY step")).mappings().all()
    assert [{name: row[name] for name in steps[0]} for row in viewed] == steps
    assert [(row["job"], row["item"]) for row in viewed] == [(job, 1), (job, 2)]
    assert {one["rollouts"] for one in steps} == set(listed) - {job}
    served = {1: planner, 2: tmp_path / "fit" / "steps" / "step-000001"}
    for step in steps:
        shown = result(lumos("job", step["rollouts"], "--json"))
        assert (shown["kind"], shown["state"], shown["formulation"]) == ("evaluate", "done", "model-synthesis")
        assert shown["items"] == {"done": 3} and not shown["problems"]
        digest = identity(served[step["step"]])["sha256"]
        (endpoint,) = shown["endpoints"]
        assert shown["spec"]["infer"]["agent"]["weights"] == {"planner": digest}
        assert endpoint["identity"]["sha256"] == digest
        scored = result(lumos("report", step["rollouts"], "--json"))["metrics"]["feasible"]
        assert step["feasible"] == pytest.approx(scored["value"])
    assert not result(lumos("job", job, "--json"))["problems"]

    (model,) = report["models"]
    assert model["path"] == str(tmp_path / "fit" / "export")
    assert model["digest"] == identity(tmp_path / "fit" / "export")["sha256"] != identity(planner)["sha256"]
    assert (tmp_path / "fit" / "rltf.svg").read_text().count("<svg") == 1

    again = lumos(*wanted)
    assert again.code == 0 and f"job {job} is the same request and is done" in again.err
    assert {one["job"] for one in result(lumos("jobs", "--json"))["jobs"]} == set(listed)


def test_a_fit_that_waits_holds_nothing_and_is_charged_nothing(fit):
    fit.work()
    (rollouts,) = fit.rollouts()
    row = fit.row()
    assert (row.state, row.awaits, row.waiting) == ("running", rollouts, f"the rollouts of step 1: job {rollouts}")
    assert [(one.state, one.problem, one.deaths) for one in fit.items()] == [("done", "", 0)] + [("owed", "", 0)] * 3
    assert fit.process.session.states == {} and fit.items()[1].session is None
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [rollouts]
    fit.work(rollouts)
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]


def test_processes_that_do_one_kind_of_work_each_share_a_fit(fit):
    """As workers of a deployment: neither is told which job to serve."""
    stop = threading.Event()
    others = [WorkerContext(Deployment(fit.settings)) for _ in range(2)]
    dispatchers = [Dispatcher(one, [pool]) for one, pool in zip(others, ("cpu", "llm"), strict=True)]
    threads = [threading.Thread(target=one.run, args=(stop.is_set,)) for one in dispatchers]
    try:
        for thread in threads:
            thread.start()
        wait_until(lambda: fit.items()[1].state == "done", "the first step is done", 60)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for one in others:
            one.close()
    with fit.database.engine.connect() as connection:
        (learnt,) = list_feedback(connection, fit.job)
    assert learnt["rollouts"] == fit.rollouts()[0] and {one.state for one in fit.items(learnt["rollouts"])} == {"done"}


def test_workers_are_told_of_a_job_when_what_it_waits_for_is_done(lumos, planner, tmp_path, redis_server):  # noqa: F811
    broker = redis_server.fresh()
    with begin_fit(tmp_path / "home", planner) as fit:
        fit.work()
        (rollouts,) = fit.rollouts()
        process = WorkerContext(Deployment(fit.settings.model_copy(update={"broker_url": broker})))
        try:
            run_slice(process, rollouts, lambda: 0)
        finally:
            process.close()
        client = redis.Redis.from_url(broker)
        messages = [json.loads(one)["headers"] for one in client.lrange("cpu", 0, -1)]
        assert [(one["task"], one["argsrepr"]) for one in messages] == [("train_shard", f"['{fit.job}']")]


def test_a_resume_goes_on_when_the_rollouts_were_done_meanwhile(fit):
    fit.work()
    (rollouts,) = fit.rollouts()
    pause(fit.database, fit.job)
    fit.work(rollouts)
    assert state(fit.database, rollouts) == "done" and state(fit.database, fit.job) == "paused"
    resume(fit.database, fit.job)
    assert runnable_jobs(fit.database, ["cpu", "llm"]) == [fit.job]
    assert begin_work(fit.database, fit.job, ()) and fit.row().awaits is None


def test_rollouts_are_those_of_their_fit_whoever_asks_for_them(fit, monkeypatch):
    """Another worker, of another person, with newer code, asks for the same job and not for one of its own."""
    fit.work()
    (rollouts,) = fit.rollouts()
    mine, theirs = fit.row(), fit.row(rollouts)
    cancel(fit.database, rollouts)
    other = WorkerContext(Deployment(fit.settings.model_copy(update={"project": "theirs", "user": "somebody"})))
    monkeypatch.setattr("lumos_queue.jobs.new_job.code_version", lambda: "9.9.9+00000000")
    try:
        run_slice(other, fit.job, lambda: 0)
    finally:
        other.close()
    again = fit.row(fit.row().awaits)
    assert again.digest == theirs.digest and again.code_version == "9.9.9+00000000"
    assert (again.project, again.submitted_by, again.priority) == (mine.project, mine.submitted_by, mine.priority)


def test_a_fit_that_is_cancelled_leaves_its_rollouts_alone(planner, tmp_path):
    spec = {"batch": 60}
    with begin_fit(tmp_path / "home", planner, spec=spec, **OPENAGI | {"limit": 60}) as fit:
        settings = fit.settings.model_copy(update={"heartbeat_seconds": 0.1, "concurrency": 1, "drain_seconds": 1.0})
        process = WorkerContext(Deployment(settings))
        thread = threading.Thread(target=Dispatcher(process, ["cpu", "llm"], only=fit.job).run, args=(lambda: False,))
        try:
            thread.start()
            wait_until(
                lambda: any(one.state == "done" for job in fit.rollouts() for one in fit.items(job)), "begun", 60
            )
            cancel(fit.database, fit.job)
            thread.join(30)
            assert not thread.is_alive()
        finally:
            cancel(fit.database, fit.job)
            thread.join()
            process.close()
        (rollouts,) = fit.rollouts()
        assert (state(fit.database, fit.job), state(fit.database, rollouts)) == ("cancelled", "running")
        assert {one.state for one in fit.items(rollouts)} == {"done", "owed"}


def test_a_cancelled_job_names_what_it_waited_for(lumos, planner, tmp_path):  # noqa: F811
    with begin_fit(tmp_path / "home", planner) as fit:
        fit.work()
        (rollouts,) = fit.rollouts()
        done = lumos("cancel", fit.job)
        assert done.out == f"job {fit.job} is cancelled\n"
        assert done.err == (
            f"job {rollouts}, which it waited for, is still queued. To stop it: lumos cancel {rollouts}\n"
        )
        lumos("cancel", rollouts)
        assert lumos("cancel", fit.job).err == ""
