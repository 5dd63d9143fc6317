"""Jobs from Python on an embedded database: submitted, followed, read, stopped and gone on with."""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import lumos_queue as lq
from lumos_queue.api.start import run_of
from lumos_queue.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
SEVEN = functools.partial(lq.evaluate, "wordmath", formulation="direct", solver=lambda prompt: "7")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.2")
    yield tmp_path / "home"
    for run in (
        [run_of(lq.Settings(), job.id) for job in lq.list_jobs()] if (tmp_path / "home/lumos.db").exists() else ()
    ):
        if run:
            run.close()


class Gate:
    """A model whose replies wait until it is opened; it counts the prompts."""

    def __init__(self):
        self.opened, self.asked = threading.Event(), threading.Semaphore(0)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        self.asked.release()
        assert self.opened.wait(60)
        return "7"

    def wait_until_asked(self) -> None:
        assert self.asked.acquire(timeout=30)


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.opened.set()


def test_a_job_is_submitted_followed_reported_compared_and_read():
    sevens = SEVEN(limit=20, name="sevens", tags={"team": "maths"})
    assert sevens.wait() is sevens and sevens.state == "done"
    report = sevens.report()
    assert (report["value"], report["finished"], report["endings"]) == (0.0, 20, {"answered": 20})
    assert "wordmath (test): 1 evaluation" in str(report) and report._repr_html_().startswith("<iframe sandbox srcdoc=")
    twenties = SEVEN(limit=20, solver=lambda prompt: "20").wait()
    comparison = sevens.compare(twenties)
    found = comparison["comparisons"][0]
    right = twenties.episodes("score=1").count()
    assert right and (found["fixed"], found["broken"], found["pairs"]) == (right, 0, 20)
    assert comparison.values["baseline"] == sevens.id and f"{right} / 0" in str(comparison)
    assert [job.id for job in lq.list_jobs("name=sevens tag.team=maths")] == [sevens.id]
    assert lq.get_job(sevens.id[:6]).facts["score"]["metric"] == "accuracy"
    written = report.write("report.md"), report.write("report.html")
    assert [one.read_text()[:5] for one in written] == ["# wor", "<!doc"]
    with pytest.raises(lq.SpecError, match=r"report\.md"):
        report.write("report.md")


def test_episodes_are_values_columns_frames_tables_and_datasets():
    job = SEVEN(limit=20, solver=lambda prompt: "20").wait()
    streamed = list(job.episodes())
    frame, table, dataset = (getattr(job.episodes(), f"to_{kind}")() for kind in ("pandas", "arrow", "dataset"))
    columns = job.episodes().to_columns()
    assert len(streamed) == len(frame) == len(table) == len(dataset) == job.episodes().count() == 20
    assert list(columns) == list(frame) == table.column_names == dataset.column_names
    assert columns["answer"] == list(frame["answer"]) == table["answer"].to_pylist() == dataset["answer"][:]
    assert list(frame["question"]) == [one.task.question for one in streamed]
    assert list(frame["metric:accuracy"]) == [one.scores["accuracy"] for one in streamed]
    assert {str(frame[name].dtype) for name in ("calls", "score", "ending")} == {"int64", "float64", "object"}
    assert job.episodes("score=1").to_pandas()["score"].eq(1).all()
    nothing = job.episodes("ending=limit")
    assert list(nothing) == [] and nothing.to_pandas().shape[0] == nothing.to_arrow().num_rows == 0
    assert nothing.to_dataset().num_rows == 0
    with pytest.raises(lq.SpecError, match="scor"):
        job.episodes("scor=1")


def test_progress_is_printed_or_given_to_a_function(capsys):
    job = SEVEN(limit=20)
    job.wait(progress=True)
    assert f"{job.id}: evaluate wordmath direct, done, 20 of 20, accuracy 0.0 %" in capsys.readouterr().err
    told = []
    SEVEN(limit=10).wait(progress=told.append)
    assert told[-1]["real_state"] == "done" and told[-1]["done"] == told[-1]["items"] == 10


def test_waiting_ends_at_its_timeout_and_the_work_goes_on(gate):
    job = SEVEN(limit=3, solver=gate)
    gate.wait_until_asked()
    with pytest.raises(TimeoutError, match=rf"Job {job.id} is running after 0\.3 s, 0 items are done"):
        job.wait(timeout=0.3)
    gate.opened.set()
    assert job.wait(timeout=60).state == "done"


def test_work_goes_on_while_nobody_waits():
    job = SEVEN(limit=20)
    run = run_of(lq.Settings(), job.id)
    assert run and run.over.wait(60)
    assert job.state == "done" and job.episodes().count() == 20


def test_a_job_is_cancelled_while_it_runs(gate):
    job = SEVEN(limit=200, solver=gate)
    gate.wait_until_asked()
    assert job.cancel() is job and job.state in ("cancelling", "cancelled")
    gate.opened.set()
    assert job.wait(timeout=60).state == "cancelled"
    assert len(gate.prompts) < 200


def test_a_paused_job_is_gone_on_with_and_asks_nothing_twice(gate):
    job = SEVEN(limit=100, solver=gate)
    gate.wait_until_asked()
    assert job.pause().wait(timeout=60).state == "paused"
    gate.opened.set()
    assert job.resume().wait(timeout=60).state == "done"
    assert job.episodes().count() == len(set(gate.prompts)) == 100


@pytest.mark.long
def test_a_job_that_is_resumed_as_its_thread_ends_is_worked_on():
    for seed in range(15):
        opened = threading.Event()
        job = SEVEN(limit=5, seed=seed, solver=lambda prompt, opened=opened: opened.wait(60) and "7")
        run = run_of(lq.Settings(), job.id)
        assert run
        job.pause()
        opened.set()
        while not run.over.is_set() and run.context.is_present:  # its session ends last
            time.sleep(0.0005)
        assert job.resume().wait(timeout=60).state == "done"


def test_the_same_request_is_the_same_job_unless_again(caplog):
    first = SEVEN(limit=5).wait()
    second = SEVEN(limit=5)
    assert second.id == first.id and "is the same request and is done (again=True runs a new job)" in caplog.text
    assert SEVEN(limit=5, again=True).wait().id != first.id
    assert SEVEN(limit=5, solver=lambda prompt: "8").wait().id != first.id


def test_functions_of_one_name_that_differ_are_different_models():
    def make(reply):
        return lambda prompt: reply

    jobs = [SEVEN(limit=5, solver=make(reply)) for reply in ("1", "2", "1")]
    assert jobs[0].id == jobs[2].id != jobs[1].id
    assert [{one.answer for one in job.wait().episodes()} for job in jobs] == [{"1"}, {"2"}, {"1"}]


def test_two_threads_submit_at_once():
    found: dict[str, lq.JobHandle] = {}

    def work(reply: str) -> None:
        found[reply] = SEVEN(limit=10, solver=lambda prompt: reply).wait(timeout=120)

    threads = [threading.Thread(target=work, args=(reply,)) for reply in ("1", "2")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(150)
    assert {reply: {one.answer for one in job.episodes()} for reply, job in found.items()} == {"1": {"1"}, "2": {"2"}}


def test_calls_work_inside_a_running_loop():
    async def cell() -> int:
        job = lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5)
        job.wait(timeout=60)
        converted = lq.convert("wordmath", split="dev", limit=5).wait(timeout=60)
        return job.episodes().count() + converted.episodes().count()

    assert asyncio.run(cell()) == 10


SCRIPT = """
import lumos_queue as lq
from pathlib import Path
import slow_model
job = lq.evaluate("wordmath", formulation="direct", solver=slow_model.reply, limit=16)
print(job.id)
import time
while not Path("asked.txt").exists() or len(Path("asked.txt").read_text().splitlines()) < 3:
    time.sleep(0.05)
"""
MODEL = """
import hashlib, time
def reply(prompt):
    time.sleep(0.1)
    with open("asked.txt", "a") as file:
        file.write(hashlib.sha256(prompt.encode()).hexdigest() + "\\n")
    return "7"
"""


def test_a_script_that_ends_drains_and_its_job_is_completed_without_repeating_calls(tmp_path, monkeypatch):
    (tmp_path / "slow_model.py").write_text(MODEL)
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    monkeypatch.setenv("LUMOS_PLUGINS", "slow_model")
    monkeypatch.setenv("LUMOS_CONCURRENCY", "2")
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    job = lq.get_job(done.stdout.strip())
    first = job.episodes().count()
    assert 3 <= first < 16 and len((tmp_path / "asked.txt").read_text().splitlines()) == first
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["resume", job.id]) == 0
    asked = (tmp_path / "asked.txt").read_text().splitlines()
    assert job.state == "done" and len(asked) == len(set(asked)) == 16


def test_a_handle_and_a_report_draw_themselves():
    job = SEVEN(limit=5, name="<b>").wait()
    assert "<td>&lt;b&gt;</td>" in job._repr_html_() and "5 of 5" in job._repr_html_()
    assert repr(job).startswith(f"<JobHandle {job.id}: evaluate wordmath direct, done, 5 of 5, accuracy 0.0 %")
    assert repr(job.report()).startswith(f"<Report of {job.id}: done, 5 of 5, accuracy 0.0")
    assert main(["rm", job.id, "--yes"]) == 0
    assert f"{job.id}" in job._repr_html_() and "No job" in repr(job)


def test_an_empty_id_is_the_beginning_of_none():
    SEVEN(limit=1).wait(timeout=60)
    with pytest.raises(lq.SpecError, match=r"^The job's id is empty\. List the jobs with: lumos jobs$"):
        lq.get_job("")
