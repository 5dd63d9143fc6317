"""A low limit of open files: raised where that is allowed, said in one line where not, and survived in any case."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.services import wait_until
from workers.open_files import allow_open_files, files_needed

ROOT = Path(__file__).resolve().parents[2]
ITEMS = 20
LOW, HIGH = 40, 4096
LINE = f"open files are limited to {LOW}, and LUMOS_CONCURRENCY=64 may need {files_needed(64)}: run ulimit -n "


def limited(soft: int, hard: int):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def command(folder: Path, *arguments: str, soft: int = LOW, hard: int = LOW, **variables: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LUMOS_HOME": str(folder / "home"), **variables}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited(soft, hard),
    )  # fmt: skip


def reply(prompt: str) -> str:
    return "R1 = Calculator(2 + 3)" if "to be grounded:" in prompt else "Subgoal 1: Add."


@pytest.mark.parametrize("hard", [LOW, HIGH])
def test_an_evaluation_says_what_the_system_does_not_allow_and_ends_well(tmp_path, hard):
    """More requests at once than files may be open, unless the limit is raised."""
    with FakeEndpoint(reply, latency=0.3) as planner, FakeEndpoint(reply, latency=0.3) as grounder:
        process = command(
            tmp_path, "lumos_queue.cli.main", "evaluate", "wordmath", "--limit", str(ITEMS), "--formulation",
            "one-pass", "--planner", planner.tgi, "--grounder", grounder.tgi, "--json", hard=hard,
        )  # fmt: skip
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["endings"] == {"answered": ITEMS}
    if hard == HIGH:
        assert "open files" not in err
    else:
        assert [line.startswith(LINE) for line in err.splitlines()].count(True) == 1
        assert "Too many open files" in err, "the limit is low enough to be met, and is survived"


@pytest.mark.parametrize("hard", [LOW, HIGH])
def test_a_dispatcher_and_a_celery_worker_say_it_in_their_logs(tmp_path, redis_server, hard):
    made = command(tmp_path, "lumos_queue.cli.main", "db", "upgrade", hard=hard)
    assert made.communicate(timeout=60) and made.returncode == 0
    broker = {"LUMOS_BROKER_URL": redis_server.fresh()}
    worker = ("workers.run_celery", "worker", "-Q", "cpu", "-c", "1", "--without-gossip", "--loglevel", "INFO")
    for arguments, ready in ((("lumos_queue.cli.main", "worker"), "looking for jobs"), (worker, " ready.")):
        process = command(tmp_path, *arguments, hard=hard, **broker)
        assert process.stderr
        told = ""
        try:
            for line in process.stderr:
                told += line
                if ready in line:
                    break
            assert len(re.findall(LINE, told)) == (hard == LOW), told
            soft, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
            assert soft == (LOW if hard == LOW else files_needed(64))
        finally:
            process.terminate()
            process.communicate(timeout=30)


def test_up_says_it_and_its_children_inherit_what_it_may_have(tmp_path):
    """It is told to end as soon as it has said so."""
    process = command(tmp_path, "lumos_queue.cli.main", "up", LUMOS_CONCURRENCY="1000", soft=LOW, hard=512)
    try:
        assert process.stderr and (line := process.stderr.readline())
        assert line.startswith("open files are limited to 512, and LUMOS_CONCURRENCY=1000 may need 3100: ")
        assert line.endswith("or set LUMOS_CONCURRENCY to 137\n")
        wait_until(lambda: resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (512, 512), "it is raised", 5)
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("soft", "hard", "after", "says"),
    [(1024, 4096, 1024, False), (128, 4096, 292, False), (128, 200, 200, True), (128, 128, 128, True)],
)
def test_the_limit_is_raised_to_what_is_needed_and_never_lowered(monkeypatch, soft, hard, after, says):
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    line = allow_open_files(Settings(concurrency=64))
    assert limits[-1] == (after, hard) and bool(line) == says and "\n" not in line
