"""Files that commands and jobs name, in processes of their own: a pipe in the place of one holds nothing up.

Each process has a limit of time, so that one which hangs fails.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from lumos_queue.models.starter import FROM_SCRATCH, starter_url
from tests.services import wait_until

COMMAND = (sys.executable, "-m", "lumos_queue.cli.main")
SECONDS = 60  #: after which a process hangs
MEMORY = 4 * 2**30  #: bytes of memory of a process that is given more than that to read
ROW = json.dumps({"question": "Ida has 2 tarts and buys 3. How many?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"}) + "\n"


@pytest.fixture
def rules(tmp_path, monkeypatch) -> Path:
    """A rules file, in a folder with a home and no broker that can be reached."""
    for name in [name for name in os.environ if name.startswith("LUMOS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    path = tmp_path / "rules.json"
    path.write_text('[{"contains": "", "reply": "The answer is 5."}]')
    return path


def lumos(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, timeout=SECONDS, **options)


def evaluate(solver: object, *options: object, **others) -> subprocess.CompletedProcess[str]:
    arguments = ("--split", "test", "--limit", "2", "--formulation", "direct", "--solver", f"scripted:{solver}")
    return lumos("evaluate", *(options or ("wordmath",)), *arguments, "--json", **others)


@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "large"])
def test_a_pipe_a_device_and_a_large_file_are_refused_as_other_bad_input(rules, name):
    os.mkfifo(rules.with_name("pipe"))
    with rules.with_name("large").open("wb") as file:
        file.truncate(400_000_000)
    done = evaluate(rules.parent / name, preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (MEMORY, MEMORY)))
    problem = {"large": "has 400.0 MB: at most 67.1 MB are read.", "pipe": "is a pipe: expected a regular file."}
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and problem.get(name, "is a device: expected a regular file.") in lines[0]
    assert f"'{rules.parent / name}'" in lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "gsm8k", "--data", "pipe", "--formulation", "direct", "--solver", "scripted:rules.json"),
        ("convert", "gsm8k", "--data", "pipe", "--deterministic"),
        ("train", "sweep", "pipe", "--folder", "fits"),
        ("train", "sft", "--data", "pipe", "--from", "starter", "--folder", "fit"),
        ("data", "import", "pipe", "pipe", "--licence", "MIT"),
        ("data", "import-toolbench", "pipe", "--licence", "MIT"),
        ("dataset", "unify", "pipe", "--out", "all.jsonl"),
        ("models", "get", "pipe"),
        ("serve", "tools", "--records", "pipe"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_every_command_that_reads_a_file_refuses_a_pipe(rules, arguments):
    os.mkfifo(rules.with_name("pipe"))
    done = lumos(*arguments, cwd=rules.parent)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "pipe'" in done.stderr


def test_rows_may_come_through_a_pipe_that_the_command_is_started_with(rules):
    done = evaluate(rules, "gsm8k", "--data", "/dev/stdin", input=ROW)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["finished"] == 1


def test_a_worker_outlives_a_job_whose_file_became_a_pipe(rules, monkeypatch):
    monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.2")
    other = Path(shutil.copy(rules, rules.with_name("other.json")))
    stuck = json.loads(evaluate(rules, "wordmath", "--detach").stdout.splitlines()[-1])["job"]
    rules.unlink()
    os.mkfifo(rules)
    fine = json.loads(evaluate(other, "wordmath", "--detach").stdout.splitlines()[-1])["job"]

    def jobs() -> dict[str, dict]:
        return {job["job"]: job for job in json.loads(lumos("jobs", "--json").stdout.splitlines()[-1])["jobs"]}

    worker = subprocess.Popen([*COMMAND, "worker"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: jobs()[fine]["state"] == "done", "the other job is done", SECONDS)
        wait_until(lambda: jobs()[stuck]["waiting"], "the job says why it waits", SECONDS)
        assert worker.poll() is None
        assert f"'{rules}' is a pipe: expected a regular file." in jobs()[stuck]["waiting"]
        rules.unlink()
        shutil.copy(other, rules)
        wait_until(lambda: jobs()[stuck]["state"] == "done", "the job goes on with a file", SECONDS)
    finally:
        worker.terminate()
        try:
            worker.wait(SECONDS)
        finally:
            worker.kill()


def test_a_model_folder_with_a_pipe_or_a_link_out_of_it_is_refused(rules):
    starter = starter_url("one-pass", FROM_SCRATCH).removeprefix("local:")
    model = Path(shutil.copytree(starter, rules.with_name("model")))
    for name, make, problem in (
        ("generation_config.json", os.mkfifo, "is a pipe"),
        ("added_tokens.json", lambda path: path.symlink_to(rules), "leads out of"),
    ):
        (model / name).unlink(missing_ok=True)
        make(model / name)
        done = lumos("evaluate", "wordmath", "--limit", "1", "--formulation", "direct", "--solver", f"local:{model}")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert f"'{model / name}' {problem}" in done.stderr
        (model / name).unlink()
