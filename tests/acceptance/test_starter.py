"""The starter agent as people use it: one command, one report; and the same steps through a whole deployment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from db.engine.connection import open_database
from tests.services import CeleryWorker
from tests.stored_rows import read_stored_rows

LIMIT = "12"


def options(data: Path, formulation: str) -> list[str]:
    agent = ["--agent", "starter", "--formulation", formulation]
    return ["evaluate", "svamp", "--data", str(data), *agent, "--limit", LIMIT, "--json"]


def evaluate(data: Path, formulation: str) -> dict:
    """`lumos evaluate svamp … --json` in a new process; returns its last line."""
    done = subprocess.run(
        [sys.executable, "-m", "lumos_queue.cli.main", *options(data, formulation)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("formulation", ["iterative", pytest.param("one-pass", marks=pytest.mark.long)])
def test_the_starter_evaluates_svamp_and_a_deployment_stores_the_same_steps(
    formulation, shared_data, tmp_path, redis_url, postgres_url, lumos
):
    data = shared_data / "svamp" / "SVAMP.json"
    lumos.set(LUMOS_HOME=tmp_path)
    alone = evaluate(data, formulation)
    assert alone["n"] == int(LIMIT)
    assert 0 <= alone["ci95"][0] <= alone["value"] <= alone["ci95"][1] <= 1
    assert sum(alone["endings"].values()) == alone["finished"] == alone["n"]
    assert set(alone["baselines"]) and alone["tokens"]["completion"] > 0 and alone["seconds"] > 0
    assert alone["calls_as_expected"]["as_expected"] == alone["calls_as_expected"]["episodes"]
    assert alone["correct"] == round(alone["value"] * alone["n"])

    again = lumos(*options(data, formulation)).json
    assert again["job"] == alone["job"], "the same request ran a second time"
    with CeleryWorker(tmp_path, "llm", database_url=postgres_url, broker_url=redis_url):
        lumos.set(LUMOS_DATABASE_URL=postgres_url, LUMOS_BROKER_URL=redis_url)
        deployed = lumos(*options(data, formulation), "--follow").json
    # What one batch computes must not depend on who shares it: fp32, greedy, ties decided alone.
    mine, theirs = open_database(f"sqlite:///{tmp_path / 'lumos.db'}"), open_database(postgres_url)
    try:
        assert read_stored_rows(mine, alone["job"]) == read_stored_rows(theirs, deployed["job"])
    finally:
        mine.close()
        theirs.close()
