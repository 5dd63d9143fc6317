"""A low limit of open files: raised where that is allowed, said in one line where not, and survived in any case."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from pathlib import Path

import pytest

from lumos_queue.cli.main import main
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.forked_commands import Forked
from tests.services import wait_until
from tests.stored_rows import make_tables
from workers.open_files import allow_open_files, files_needed

ITEMS = 20
LOW, HIGH = 40, 4096
LINE = f"open files are limited to {LOW}, and LUMOS_CONCURRENCY=64 may need {files_needed(64)}: run ulimit -n "


def run_limited(soft: int, hard: int, program: str, arguments: list[str]) -> int | None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if program == "lumos":
        return main(arguments)
    from workers import run_celery

    sys.argv = ["celery", *arguments]
    return run_celery.main()


def command(folder: Path, program: str, *arguments: str, soft: int = LOW, hard: int = LOW, **variables: str) -> Forked:
    environment = {**os.environ, "LUMOS_HOME": str(folder / "home"), **variables}
    return Forked(run_limited, soft, hard, program, list(arguments), environment=environment, folder=folder)


def reply(prompt: str) -> str:
    return "R1 = Calculator(2 + 3)" if "to be grounded:" in prompt else "Subgoal 1: Add."


@pytest.mark.parametrize("hard", [LOW, HIGH])
def test_an_evaluation_says_what_the_system_does_not_allow_and_ends_well(tmp_path, hard):
    """More requests at once than files may be open, unless the limit is raised."""
    make_tables(tmp_path / "home")
    large = {"latency": 0.3, "owner": "llamacpp", "stated_slots": 64}
    with FakeEndpoint(reply, **large) as planner, FakeEndpoint(reply, **large) as grounder:
        process = command(
            tmp_path,
            "lumos",
            "evaluate",
            "wordmath",
            "--limit",
            str(ITEMS),
            "--formulation",
            "one-pass",
            "--planner",
            planner.openai,
            "--grounder",
            grounder.openai,
            "--json",
            hard=hard,
        )
        assert process.wait(120) == 0, process.err
    out, err = process.out, process.err
    assert json.loads(out.splitlines()[-1])["endings"] == {"answered": ITEMS}
    if hard == HIGH:
        assert "open files" not in err
    else:
        assert [line.startswith(LINE) for line in err.splitlines()].count(True) == 1
        assert "Too many open files" in err, "the limit is low enough to be met, and is survived"


@pytest.mark.parametrize("hard", [LOW, HIGH])
def test_a_dispatcher_and_a_celery_worker_say_it_in_their_logs(tmp_path, redis_server, hard):
    make_tables(tmp_path / "home")
    broker = {"LUMOS_BROKER_URL": redis_server.fresh()}
    worker = ("celery", "worker", "-Q", "cpu", "-c", "1", "--without-gossip", "--loglevel", "INFO")
    for arguments, ready in ((("lumos", "worker"), "looking for jobs"), (worker, " ready.")):
        process = command(tmp_path, *arguments, hard=hard, **broker)
        try:
            process.expect(ready)
            assert len(re.findall(LINE, process.err)) == (hard == LOW), process.err
            soft, _ = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
            assert soft == (LOW if hard == LOW else files_needed(64))
        finally:
            process.terminate()
            process.wait()


def test_up_says_it_and_its_children_inherit_what_it_may_have(tmp_path):
    """It is told to end as soon as it has said so."""
    process = command(tmp_path, "lumos", "up", LUMOS_CONCURRENCY="1000", soft=LOW, hard=512)
    try:
        process.expect("\n")
        line = process.err.splitlines()[0]
        assert line.startswith("open files are limited to 512, and LUMOS_CONCURRENCY=1000 may need 3100: ")
        assert line.endswith("or set LUMOS_CONCURRENCY to 137")
        wait_until(lambda: resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (512, 512), "it is raised", 60)
    finally:
        process.terminate()
        process.wait()


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
