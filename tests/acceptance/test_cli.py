"""The console script in processes of its own: start-up, standard output, signals."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.services import wait_until

COMMAND = [sys.executable, "-m", "lumos_queue.cli.main"]
HEAVY = ("torch", "transformers", "sqlalchemy", "sqlmodel", "pydantic", "celery", "sympy", "aiohttp", "rich")


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "LUMOS_HOME": str(tmp_path / "home"), "LUMOS_CONCURRENCY": "4"}


@pytest.fixture
def slow_agent(tmp_path):
    """Options for an agent that takes a tenth of a second for each of its three replies."""
    replies = {"Should we stop planning?": "Yes, I will stop planning.", "to be grounded:": "R1 = Calculator(2 + 3)",
               "": "Subgoal 1: Add."}  # fmt: skip
    rules = [{"contains": part, "reply": reply, "delay": 0.1} for part, reply in replies.items()]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    return ["--planner", f"scripted:{tmp_path / 'rules.json'}", "--grounder", f"scripted:{tmp_path / 'rules.json'}"]


def lumos(environment, *arguments):
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=60)


def test_help_imports_nothing_heavy(environment):
    code = (
        f"import sys; from lumos_queue.cli.main import main; main(['--help']); print(set(sys.modules) & set({HEAVY}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "evaluate" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "set()"


def test_an_error_is_one_line_and_exit_code_2(environment, tmp_path):
    ran = lumos(environment, "evaluate", "wordmath", "--agent", "nope", "--json")
    assert ran.returncode == 2
    assert ran.stderr == "lumos: No agent called 'nope'. Choose one of: starter, starter-scratch.\n"
    assert list(json.loads(ran.stdout)) == ["error"]
    assert not (tmp_path / "home").exists()


def test_a_reader_that_goes_away_is_no_fault(environment):
    process = subprocess.Popen([*COMMAND, "--help"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=30) in (0, 1)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_an_interrupted_evaluation_is_resumed_without_repeating_an_episode(environment, slow_agent, number):
    arguments = ["evaluate", "wordmath", "--limit", "120", "--json", *slow_agent]
    process = subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finished() -> int:
        jobs = json.loads(lumos(environment, "jobs", "--json").stdout).get("jobs")
        return jobs[0]["done"] if jobs else 0

    wait_until(lambda: finished() > 4, "some episodes are done", 30)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    report = json.loads(out)
    assert process.returncode == 130
    assert f"lumos resume {report['job']}" in err.decode()
    assert 4 < report["finished"] < 120 and report["real_state"] == "nobody works on it"
    assert (report["complete"], report["items"].get("claimed")) == (False, None)
    low, high = report["bounds"]
    assert high - low == pytest.approx((120 - report["finished"]) / 120, abs=1e-5)

    resumed = lumos(environment, "resume", report["job"], "--json")
    done = json.loads(resumed.stdout)
    assert resumed.returncode == 0
    assert (done["state"], done["complete"], done["endings"]) == ("done", True, {"answered": 120})
    assert done["calls"] == 360


def test_a_worker_does_what_is_owed_and_ends_by_term(environment, slow_agent):
    deployed = environment | {"LUMOS_BROKER_URL": "redis://127.0.0.1:9/0", "LUMOS_POLL_SECONDS": "0.2"}
    job = lumos(deployed, "evaluate", "wordmath", "--limit", "8", *slow_agent).stdout.strip()
    worker = subprocess.Popen(
        [*COMMAND, "worker", "--json"], env=deployed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    followed = lumos(deployed, "evaluate", "wordmath", "--limit", "8", *slow_agent, "--follow", "--json")
    report = json.loads(followed.stdout)
    worker.send_signal(signal.SIGTERM)
    out, _ = worker.communicate(timeout=30)
    assert (report["job"], report["state"], report["finished"]) == (job, "done", 8)
    assert worker.returncode == 0
    assert json.loads(out) == {"stopped": True}


def test_a_job_is_paused_and_its_worker_is_seen(environment, slow_agent):
    deployed = environment | {"LUMOS_BROKER_URL": "redis://127.0.0.1:9/0", "LUMOS_POLL_SECONDS": "0.2"}
    job = lumos(deployed, "evaluate", "wordmath", "--limit", "300", *slow_agent).stdout.strip()
    assert json.loads(lumos(deployed, "workers", "--json").stdout) == {"workers": [], "refused": []}
    worker = subprocess.Popen([*COMMAND, "worker"], env=deployed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:

        def seen() -> list:
            return json.loads(lumos(deployed, "workers", "--json").stdout)["workers"]

        (one,) = wait_until(lambda: [row for row in seen() if row["items"]], "the worker holds items", 30)
        assert (one["pid"], 4 <= one["items"] <= 16) == (worker.pid, True)
        paused = lumos(deployed, "pause", job)
        assert (paused.returncode, paused.stdout) == (0, f"job {job} is paused\n")
        (one,) = wait_until(lambda: [row for row in seen() if not row["items"]], "everything is given back", 30)
        shown = json.loads(lumos(deployed, "job", job, "--json").stdout)
        assert shown["state"] == "paused" and shown["items"]["owed"] > 0
        assert "No endpoint has a cap" in lumos(deployed, "endpoints").stdout
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=30)


def test_caps_are_set_shown_and_taken_away(environment):
    def caps(*arguments) -> list:
        ran = lumos(environment, "endpoints", *arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)["endpoints"]

    assert caps("tgi://a:1,b:2", "--cap", "5") == [{"url": "tgi://a:1,b:2", "cap": 5, "held": 0, "workers": 0}]
    assert [one["cap"] for one in caps("tgi://a:1,b:2", "--cap", "7")] == [7]
    assert "tgi://a:1,b:2" in lumos(environment, "endpoints").stdout
    assert caps("tgi://a:1,b:2", "--cap", "0") == []
    for wrong in (["--cap", "5"], ["tgi://a:1"], ["tgi://user:secret@a:1", "--cap", "5"], ["nope://a", "--cap", "5"]):
        ran = lumos(environment, "endpoints", *wrong)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and "secret" not in ran.stderr
