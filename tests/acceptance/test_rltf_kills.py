"""Ten kills of a job that learns from rewards, in its rollouts and in its updates: all is as if it was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_train_kills import last_line, lumos
from tests.services import wait_until
from tests.tiny_planners import write_planner

KILLS = 10
STEPS, EPISODES = 12, 8  #: of the job; of each step
ROLLOUTS, UPDATE, SEALED = "in the rollouts", "in the update", "between checkpoint and commit"
#: Whether some of the newest rollouts are there, but not all.
IN_ROLLOUTS = """
    SELECT count(*) FROM job j WHERE j.kind = 'evaluate' AND j.state IN ('queued', 'running')
    AND EXISTS (SELECT 1 FROM item i WHERE i.job = j.id AND i.state = 'done')"""
#: Whether the optimizer step that is being taken has its rollouts.
IN_UPDATE = """
    SELECT count(*) FROM job j JOIN item i ON i.job = j.id WHERE j.kind = 'train' AND j.awaits IS NULL
    AND i.ordinal > 0 AND i.state = 'claimed'
    AND NOT EXISTS (SELECT 1 FROM job e WHERE e.kind = 'evaluate' AND e.state <> 'done')
    AND (SELECT count(*) FROM job e WHERE e.kind = 'evaluate') = i.ordinal"""
DONE = """
    SELECT count(*) >= {} FROM item i JOIN job j ON j.id = i.job WHERE j.kind = 'train' AND i.state = 'done'"""
CLAIMED = "SELECT i.ordinal FROM item i JOIN job j ON j.id = i.job WHERE j.kind = 'train' AND i.state = 'claimed'"
CALLS = """
    SELECT e.job, i.ordinal, c.position, c.branch, count(*) FROM completion c JOIN episode e ON e.id = c.episode
    JOIN item i ON i.id = e.id GROUP BY e.job, i.ordinal, c.position, c.branch"""
EPISODE = """
    SELECT f.step, i.ordinal, t.row, e.sample, e.ending, c.position, c.prompt_digest, c.reply, c.candidates
    FROM feedback_step f JOIN episode e ON e.job = f.rollouts JOIN item i ON i.id = e.id JOIN task t ON t.id = e.task
    JOIN completion c ON c.episode = e.id AND c.attempt = e.attempt ORDER BY 1, 2, 6"""
SCORES = """
    SELECT f.step, i.ordinal, s.metric, s.value FROM feedback_step f JOIN item i ON i.job = f.rollouts
    JOIN score s ON s.episode = i.id ORDER BY 1, 2, 3"""
FIGURES = "SELECT step, episodes, reward, baseline, feasible, entropy, kl, epsilon FROM v_feedback_steps ORDER BY step"


def ask(home: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(f"file:{home / 'lumos.db'}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()


def is_there(home: Path, query: str) -> bool:
    try:
        return ask(home, query)[0][0] > 0
    except sqlite3.OperationalError:  # the database is being made
        return False


def find_place(home: Path) -> str:
    """Where the job is, or was when it was killed."""
    claimed = ask(home, CLAIMED)
    if claimed and (home / "fit" / "steps" / f"step-{claimed[0][0]:06d}").exists():
        return SEALED
    return next((name for name, query in ((ROLLOUTS, IN_ROLLOUTS), (UPDATE, IN_UPDATE)) if is_there(home, query)), "")


def is_due(process: subprocess.Popen, home: Path, done: int, place: str) -> bool:
    """Whether so many items of the job are done, and it is in that place."""
    assert process.poll() is None, process.communicate()
    return is_there(home, DONE.format(done)) and find_place(home) == place


def read_episodes(home: Path) -> tuple[list[tuple], list[float]]:
    """(each call of each rollout, what it gave, and the texts of its candidates; the candidates' log-probabilities)."""
    calls, logprobs = [], []
    for *row, candidates in ask(home, EPISODE):
        listed = json.loads(candidates)
        calls.append((*row, [text for text, _ in listed]))
        logprobs += [logprob for _, logprob in listed]
    return calls, logprobs


def read_checkpoint(home: Path, step: int = STEPS) -> tuple[dict[str, Any], dict[str, Any]]:
    """State and optimizer after a step; without the ids of jobs."""
    import torch

    folder = home / "fit" / "steps" / f"step-{step:06d}"
    state = json.loads((folder / "state.json").read_text())
    for step in state["history"]:
        del step["rollouts"]
    return state, torch.load(folder / "training.pt", weights_only=True)


def is_equal(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return one == other


@pytest.mark.long
def test_ten_kills_change_neither_the_weights_nor_what_they_were_learnt_from(tmp_path):
    write_planner(tmp_path / "start")

    def train(home: Path):
        return lumos(
            home,
            "train",
            "rltf",
            "openagi",
            "--from",
            str(tmp_path / "start"),
            "--folder",
            str(home / "fit"),
            "--split",
            "feedback",
            "--limit",
            "8",
            "--epochs",
            "6",
            "--batch",
            "4",
            "--samples",
            "2",
            "--beams",
            "5",
            "--rate",
            "0.01",
            "--tool",
            "experts=oracle:",
            "--option",
            "samples=1",
            "--reward",
            "plan_set",
            "--epsilon",
            "0.8",
        )

    began = time.monotonic()
    left_alone = tmp_path / "left_alone"
    whole = last_line(train(left_alone))
    seconds = [time.monotonic() - began]
    assert whole["state"] == "done" and len(whole["feedback_steps"]) == STEPS
    assert len({step["reward"] for step in whole["feedback_steps"]}) > STEPS / 2, "there is something to learn"

    began = time.monotonic()
    home, source, hits = tmp_path / "killed", random.Random(7), Counter()
    process, job = train(home), ""
    for number in range(KILLS):
        # Each after one more step, so that the kills are spread over the job.
        place = (ROLLOUTS, UPDATE, SEALED)[number % 3]
        wait_until(partial(is_due, process, home, number + 1, place), f"kill {number + 1} {place}", 120, every=0.005)
        time.sleep(0.0 if place == SEALED else source.uniform(0.0, 0.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        hits[find_place(home) or "elsewhere"] += 1
        job = job or ask(home, "SELECT id FROM job WHERE kind = 'train'")[0][0]
        process = train(home) if number % 3 == 2 else lumos(home, "resume", job)
    ended = last_line(process)
    seconds.append(time.monotonic() - began)
    print(f"\n{KILLS} kills: {dict(hits)}; {seconds[0]:.0f} s alone, {seconds[1]:.0f} s with the kills")
    assert ended["state"] == "done" and ended["job"] == job
    assert all(hits[place] >= 2 for place in (ROLLOUTS, UPDATE, SEALED))

    weights = [(one / "fit" / "export" / "model.safetensors").read_bytes() for one in (home, left_alone)]
    assert weights[0] == weights[1] != (tmp_path / "start" / "model.safetensors").read_bytes()
    for mine, other in zip(read_checkpoint(home), read_checkpoint(left_alone), strict=True):
        assert is_equal(mine, other)
    for query in (FIGURES, SCORES):
        assert ask(home, query) == ask(left_alone, query) != []
    (calls, logprobs), (others, expected) = map(read_episodes, (home, left_alone))
    assert calls == others and len(calls) >= STEPS * EPISODES
    assert logprobs == pytest.approx(expected, abs=1e-4)  # prefixes that are known round otherwise

    # No recorded call was repeated, in whatever attempt; no step asked for its rollouts twice; none has failed.
    for one in (home, left_alone):
        assert {count for *_, count in ask(one, CALLS)} == {1}
        assert ask(one, "SELECT count(*) FROM job WHERE kind = 'evaluate'") == [(STEPS,)]
        assert ask(one, "SELECT count(*), count(DISTINCT episode) FROM attempt") == [(STEPS * EPISODES,) * 2]
        assert ask(one, "SELECT count(*) FROM item WHERE problem <> ''") == [(0,)]
    both = [ask(one, "SELECT count(*) FROM completion") for one in (home, left_alone)]
    assert both[0] == both[1]
