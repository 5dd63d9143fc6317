"""The API from forked children, after its database went away, and against a deployment."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import lumos_queue as lq
from lumos_queue.api.start import run_of
from tests.services import CeleryWorker, start_postgres, wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
SEVEN = functools.partial(lq.evaluate, "wordmath", formulation="direct", solver=lambda prompt: "7")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.2")
    return tmp_path / "home"


def reply(prompt: str) -> str:
    return "7"


def in_child(work: Callable[[], object]) -> None:
    """Do it in a forked child, which gets a minute; fails where it fails there."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        wait_until(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG), "the child ends", 60)
    finally:
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_forked_child_reads_and_submits(kind, request, monkeypatch):
    if kind == "postgresql":
        monkeypatch.setenv("LUMOS_DATABASE_URL", request.getfixturevalue("postgres_url"))
    job = SEVEN(limit=5).wait()
    run = run_of(lq.Settings(), job.id)
    assert run and run.over.wait(30)

    def work() -> None:
        assert job.state == "done" and job.episodes().count() == 5
        assert SEVEN(limit=5, seed=1).wait(timeout=50).state == "done"

    in_child(work)
    assert len(lq.list_jobs()) == 2


def test_a_child_forked_from_threads_at_work_is_refused_sqlite_whose_locks_they_may_hold():
    forked = threading.Event()
    job = SEVEN(limit=100, solver=lambda prompt: "7" if forked.wait(60) else "")

    def work() -> None:
        for call in (
            lambda: job.state,
            job.resume,
            lq.list_jobs,
            lambda: SEVEN(limit=5),
            lambda: lq.convert("wordmath"),
        ):
            with pytest.raises(lq.SpecError, match=r"^This process was forked while its parent worked .*PostgreSQL\.$"):
                call()

    for _ in range(2):
        in_child(work)
    forked.set()
    assert job.wait(timeout=60).state == "done"


def test_a_child_forked_from_threads_at_work_goes_on_with_a_job_by_itself(postgres_url, monkeypatch):
    monkeypatch.setenv("LUMOS_DATABASE_URL", postgres_url)
    monkeypatch.setenv("LUMOS_CONCURRENCY", "4")
    opened = threading.Event()
    job = SEVEN(limit=20, solver=lambda prompt: "7" if opened.wait(60) else "")
    run, (forked, tell_parent), (paused, tell_child) = run_of(lq.Settings(), job.id), os.pipe(), os.pipe()

    def end_in_parent() -> None:
        os.read(forked, 1)
        job.pause()
        assert run
        # It learns of the pause with a heartbeat. Answered before, it could finish all items first.
        wait_until(lambda: run.context.session.states.get(job.id) == "paused" or run.over.is_set(), "it has to pause")
        opened.set()
        assert run.over.wait(60)
        os.write(tell_child, b"!")

    def work() -> None:
        os.write(tell_parent, b"!")
        os.read(paused, 1)
        opened.set()
        assert job.state == "paused" and job.resume().wait(timeout=50).state == "done"

    ending = threading.Thread(target=end_in_parent)
    ending.start()
    in_child(work)
    ending.join()
    assert job.episodes().count() == 20


def test_a_database_file_that_was_removed_is_said_in_one_line(home):
    job = SEVEN(limit=3).wait()
    run = run_of(lq.Settings(), job.id)
    assert run and run.over.wait(30)
    for one in home.glob("lumos.db*"):
        one.unlink()
    found = job.episodes()
    calls = (
        job.wait,
        lambda: job.state,
        job.report,
        job.cancel,
        found.count,
        found.to_pandas,
        lambda: list(found),
        lq.list_jobs,
        lambda: job.compare(job),
        lambda: job.score("same_words"),
    )
    for call in calls:
        with pytest.raises(lq.SpecError, match=r"There is no database at .* yet") as error:
            call()
        assert "\n" not in str(error.value)
    assert "There is no database" in repr(job)


def test_a_file_that_is_not_a_database_is_said_in_one_line(home):
    SEVEN(limit=3).wait()
    run_of(lq.Settings(), lq.list_jobs()[0].id).over.wait(30)
    for one in home.glob("lumos.db-*"):
        one.unlink()
    (home / "lumos.db").write_bytes(b"something else" * 1000)
    for call in (lq.list_jobs, lambda: SEVEN(limit=4)):
        with pytest.raises(lq.InfrastructureError, match="not a database") as error:
            call()
        assert "\n" not in str(error.value)


SCRIPT = """
import sys, time
import lumos_queue as lq
job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: time.sleep(0.05) or "7", limit=500)
print("begun", flush=True)
sys.stdin.readline()  # until the server is gone
for call in (job.wait, lambda: job.state, lq.list_jobs, lambda: lq.evaluate("wordmath", formulation="direct",
             solver=lambda prompt: "8"), lambda: list(job.episodes())):
    try:
        call()
        print("no error")
    except lq.LumosError as error:
        print(type(error).__name__, str(error).count("\\n"), str(error)[:60])
"""


def test_a_server_that_was_stopped_is_said_in_one_line_and_the_program_ends(tmp_path, monkeypatch):
    with start_postgres() as server:
        monkeypatch.setenv("LUMOS_DATABASE_URL", server.fresh())
        (tmp_path / "script.py").write_text(SCRIPT)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        script = subprocess.Popen(
            [sys.executable, "script.py"], text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes
        )
        assert script.stdout and script.stdout.readline() == "begun\n"
    try:
        out, err = script.communicate("gone\n", timeout=60)
    finally:
        script.kill()
    assert {line[:40] for line in out.splitlines()} == {"InfrastructureError 0 The database at po"}, out
    assert len(out.splitlines()) == 5 and "Traceback" not in err
    # What was in flight kept trying to be stored until its time to drain was over, and the program ended by itself.
    assert script.returncode == 0, err


@pytest.fixture
def deployment(redis_url, postgres_url, monkeypatch):
    monkeypatch.setenv("LUMOS_BROKER_URL", redis_url)
    monkeypatch.setenv("LUMOS_DATABASE_URL", postgres_url)
    return {"broker_url": redis_url, "database_url": postgres_url, "heartbeat_seconds": "0.3"}


def test_in_a_deployment_a_job_waits_for_a_worker_and_is_done_by_it(deployment, tmp_path, monkeypatch):
    job = SEVEN(limit=10, solver=reply)
    assert job.state == "queued" and run_of(lq.Settings(), job.id) is None
    with pytest.raises(TimeoutError, match=rf"Job {job.id} is queued after 0\.5 s, 0 items are done"):
        job.wait(timeout=0.5)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with CeleryWorker(tmp_path, "cpu,llm", plugins="tests.integration.test_api_failures", **deployment):
        assert job.wait(timeout=60).state == "done"
    assert [one.answer for one in job.episodes()] == ["7"] * 10


def test_in_a_deployment_what_only_the_program_has_is_refused(deployment):
    for arguments in ({"solver": lambda prompt: "7"}, {"formulation": lq.formulation(roles=("solver",))(reply)}):
        with pytest.raises(lq.SpecError, match="is defined in this program alone, and the workers") as error:
            SEVEN(**arguments)
        assert "\n" not in str(error.value) and not lq.list_jobs()


def test_in_a_deployment_a_scorer_that_only_the_program_has_scores_as_this_process_does_it(deployment):
    job = SEVEN(limit=3, solver=reply)
    assert job.score(lq.Scorer("short", lambda episode: 1)).episodes == 0 and job.state == "queued"
