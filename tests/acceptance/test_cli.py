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
    replies = {
        "Should we stop planning?": "Yes, I will stop planning.",
        "to be grounded:": "R1 = Calculator(2 + 3)",
        "": "Subgoal 1: Add.",
    }
    rules = [{"contains": part, "reply": reply, "delay": 0.1} for part, reply in replies.items()]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    return ["--planner", f"scripted:{tmp_path / 'rules.json'}", "--grounder", f"scripted:{tmp_path / 'rules.json'}"]


@pytest.fixture
def deployed(lumos):
    """The variables of a deployment without a broker that can be reached; its workers look for work often."""
    lumos.set(LUMOS_CONCURRENCY=4, LUMOS_BROKER_URL="redis://127.0.0.1:9/0", LUMOS_POLL_SECONDS=0.2)
    return {**os.environ}


def test_help_imports_nothing_heavy(environment):
    code = (
        f"import sys; from lumos_queue.cli.main import main; main(['--help']); print(set(sys.modules) & set({HEAVY}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "evaluate" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "set()"


def test_an_error_is_one_line_and_exit_code_2(environment, tmp_path):
    command = [*COMMAND, "evaluate", "wordmath", "--agent", "nope", "--json"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr == "lumos: No agent called 'nope'. Choose one of: starter, starter-scratch.\n"
    assert list(json.loads(ran.stdout)) == ["error"]
    assert not (tmp_path / "home").exists()


def test_a_reader_that_goes_away_is_no_fault(environment):
    process = subprocess.Popen([*COMMAND, "--help"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_an_interrupted_evaluation_is_resumed_without_repeating_an_episode(lumos, slow_agent, number):
    lumos.set(LUMOS_CONCURRENCY=4)
    arguments = ["evaluate", "wordmath", "--limit", "60", "--json", *slow_agent]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finished() -> int:
        listed = lumos("jobs", "--json")
        jobs = listed.json["jobs"] if listed.code == 0 else []
        return jobs[0]["done"] if jobs else 0

    wait_until(lambda: finished() > 4, "some episodes are done", 60)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    report = json.loads(out)
    assert process.returncode == 130
    assert f"lumos resume {report['job']}" in err.decode()
    assert 4 < report["finished"] < 60 and report["real_state"] == "nobody works on it"
    assert (report["complete"], report["items"].get("claimed")) == (False, None)
    low, high = report["bounds"]
    assert high - low == pytest.approx((60 - report["finished"]) / 60, abs=1e-5)

    done = lumos("resume", report["job"], "--json").json
    assert (done["state"], done["complete"], done["endings"]) == ("done", True, {"answered": 60})
    assert done["calls"] == 180


def test_a_worker_does_what_is_owed_and_ends_by_term(lumos, deployed, slow_agent):
    job = lumos("evaluate", "wordmath", "--limit", "8", *slow_agent).out.strip()
    worker = subprocess.Popen(
        [*COMMAND, "worker", "--json"], env=deployed, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    report = lumos("evaluate", "wordmath", "--limit", "8", *slow_agent, "--follow", "--json").json
    worker.send_signal(signal.SIGTERM)
    out, _ = worker.communicate(timeout=60)
    assert (report["job"], report["state"], report["finished"]) == (job, "done", 8)
    assert worker.returncode == 0
    assert json.loads(out) == {"stopped": True}


def test_a_job_is_paused_and_its_worker_is_seen(lumos, deployed, slow_agent):
    job = lumos("evaluate", "wordmath", "--limit", "300", *slow_agent).out.strip()
    assert lumos("workers", "--json").json == {"workers": [], "refused": []}
    worker = subprocess.Popen([*COMMAND, "worker"], env=deployed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:

        def seen() -> list:
            return lumos("workers", "--json").json["workers"]

        [row] = wait_until(lambda: [entry for entry in seen() if entry["items"]], "the worker holds items", 60)
        assert (row["pid"], 4 <= row["items"] <= 16) == (worker.pid, True)
        paused = lumos("pause", job)
        assert (paused.code, paused.out) == (0, f"job {job} is paused\n")
        [row] = wait_until(lambda: [entry for entry in seen() if not entry["items"]], "everything is given back", 60)
        details = lumos("job", job, "--json").json
        assert details["state"] == "paused" and details["items"]["owed"] > 0
        assert "No endpoint has a cap" in lumos("endpoints").out
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)


def test_caps_are_set_shown_and_taken_away(lumos):
    def caps(*arguments) -> list:
        return lumos("endpoints", *arguments, "--json").json["endpoints"]

    (cap,) = caps("tgi://a:1,b:2", "--cap", "5")
    assert cap == {"url": "tgi://a:1,b:2", "cap": 5, "held": 0, "workers": 0, "stated": False}
    assert [one["cap"] for one in caps("tgi://a:1,b:2", "--cap", "7")] == [7]
    assert "tgi://a:1,b:2" in lumos("endpoints").out
    assert caps("tgi://a:1,b:2", "--cap", "0") == []
    for wrong in (["--cap", "5"], ["tgi://a:1"], ["tgi://user:secret@a:1", "--cap", "5"], ["nope://a", "--cap", "5"]):
        ran = lumos("endpoints", *wrong)
        assert ran.code == 2 and ran.err.count("\n") == 1 and "secret" not in ran.err
