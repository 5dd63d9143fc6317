"""A worker killed in the middle of an environment's episode: the world is rebuilt, and nothing recorded is repeated."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from db.engine.connection import open_database
from db.queries.trajectories import load_episodes
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import WITHIN
from lumos_queue.records import Action
from lumos_queue.submission.store import read_rows
from tests.command_line import CommandLine
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies

LATENCY = 0.15  #: seconds of a call: long enough that steps are durable before the next call ends


def start(home: Path, arguments: list[str]) -> subprocess.Popen:
    """The command in a process that can be killed."""
    environment = os.environ | {
        "LUMOS_HOME": str(home),
        "LUMOS_FLUSH_SECONDS": "0.02",
        "LUMOS_HEARTBEAT_SECONDS": "0.5",
        "LUMOS_FENCE_SECONDS": "2",
        "LUMOS_LEASE_SECONDS": "3",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "lumos_queue.cli.main", *arguments],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def evaluate(server: FakeEndpoint, *arguments: str) -> list[str]:
    return ["evaluate", *arguments, "--planner", server.tgi, "--grounder", server.tgi, "--shots", "0", "--json"]


def actions(home: Path) -> list[tuple[str, str, str, Any]]:
    """What was done in the one episode that is stored: the call, its status, its result and its values."""
    database = open_database(f"sqlite:///{home / 'lumos.db'}")
    try:
        with database.engine.connect() as connection:
            (identifier,) = connection.exec_driver_sql("SELECT id FROM episode").scalars()
            (episode,) = load_episodes(connection, [identifier])
            return [
                (
                    f"{step.detail.name}({step.detail.arguments})",
                    step.result.status,
                    step.result.result,
                    step.result.values,
                )
                for step in episode.steps
                if isinstance(step.detail, Action) and step.branch < WITHIN
            ]
    finally:
        database.close()


def recorded(home: Path) -> set[str]:
    """sha256 of the prompts whose replies are stored."""
    with sqlite3.connect(home / "lumos.db") as connection:
        return {row[0].hex() for row in connection.execute("SELECT prompt_digest FROM completion")}


def kill_and_resume(
    lumos: CommandLine, folder: Path, reply: Callable[[str], str | None], after: int, *arguments: str
) -> None:
    """Killed once `after` calls have been answered, resumed, and compared with a run that nobody disturbed."""
    with FakeEndpoint(reply) as server:
        lumos.set(LUMOS_HOME=folder / "whole")
        report = lumos(*evaluate(server, *arguments)).json
        assert report["value"] == 1.0, report
        needed = server.count
    assert 0 < after < needed - 1
    with FakeEndpoint(reply, latency=LATENCY) as server:
        running = start(folder / "killed", evaluate(server, *arguments))
        while server.count <= after:
            assert running.poll() is None, running.communicate()[0][-3000:]
            time.sleep(0.005)
        time.sleep(LATENCY / 2)  # the call after it is on its way; what was answered before is stored
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        kept = recorded(folder / "killed")
        assert 0 < len(kept) < needed
        with sqlite3.connect(folder / "killed" / "lumos.db") as connection:
            (job,) = connection.execute("SELECT id FROM job").fetchone()
            assert connection.execute("SELECT count(*) FROM execution").fetchone()[0] > 0, "killed before any action"
        server.latency = 0.0
        lumos.set(LUMOS_HOME=folder / "killed", LUMOS_POLL_SECONDS=0.2)
        again = lumos("resume", job, "--json").json
        assert (again["value"], again["finished"]) == (1.0, 1)
        asked = Counter(call["sha256"] for call in server.calls)
        assert all(asked[one] == 1 for one in kept), "a recorded call was made again"
        assert server.count <= needed + 1, "only the call that was on its way may be made twice"
    assert actions(folder / "killed") == actions(folder / "whole")


@pytest.mark.parametrize("after", [pytest.param(3, marks=pytest.mark.long), 5, pytest.param(7, marks=pytest.mark.long)])
def test_a_shop_is_rebuilt_after_kill_9(lumos, tmp_path, after):
    benchmark = open_benchmark("webshop")
    rows = read_rows(benchmark, None, "dev", False)
    replies = gold_replies(benchmark, rows.tasks[:1], "iterative")
    kill_and_resume(lumos, tmp_path, from_mapping(replies), after, "webshop", "--split", "dev", "--limit", "1")


SCRIPT = (  # an agent that changes the database, and later looks at what it changed
    ("Subgoal 1: Find the tables.", "R1 = SHOW TABLES"),
    ("Subgoal 2: Move the hats.", "R2 = UPDATE hat SET shop = 'north' WHERE price < 10"),
    ("Subgoal 3: Look.", "R3 = SELECT name FROM hat WHERE shop = 'south'"),
    ("Subgoal 4: Finish.", "R4 = SELECT count(*) FROM hat WHERE shop = 'north'"),
)


def scripted_writer(prompt: str) -> str:
    turn = prompt.count("<|assistant|>") - 1
    subgoal, action = SCRIPT[turn]
    return subgoal if prompt.startswith("<|user|>\nPlease provide a reasonable subgoal-based plan") else action


@pytest.mark.parametrize("after", [pytest.param(4, marks=pytest.mark.long), 5, pytest.param(6, marks=pytest.mark.long)])
def test_a_changed_database_is_rebuilt_after_kill_9(lumos, tmp_path, after):
    file = tmp_path / "databases" / "hats" / "hats.sqlite"
    file.parent.mkdir(parents=True)
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE hat (name TEXT, price INTEGER, shop TEXT)")
        rows = [("cap", 5, "south"), ("bowler", 30, "south"), ("beret", 8, "south"), ("fez", 12, "north")]
        connection.executemany("INSERT INTO hat VALUES (?, ?, ?)", rows)
    connection.close()
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    data = tmp_path / "rows.json"
    data.write_text(json.dumps([{"db": "hats", "gold": "SELECT 3", "query": "How many hats are in the north?"}]))
    kill_and_resume(
        lumos,
        tmp_path,
        scripted_writer,
        after,
        "intercode_sql",
        "--split",
        "dev",
        "--data",
        str(data),
        "--max-subgoals",
        "4",
        "--tool",
        f"databases={file.parent.parent}",
        "--tool",
        "writes=yes",
        "--tool",
        "turns=2",
    )
    done = [(call, result) for call, _, result, _ in actions(tmp_path / "killed")]
    assert "bowler" in done[2][1] and "cap" not in done[2][1]
    assert "3" in done[3][1]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
