"""The shop's model as people use it: one command on held-out goals, against a rule without a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = Path(__file__).resolve().parents[2] / "models" / "webshop"
LIMIT = 30
FIRST = "buys the first result"


def test_the_folder_is_as_small_as_a_starter():
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 6_000_000


@pytest.mark.long
def test_the_model_earns_more_than_buying_the_first_result(tmp_path):
    model = f"local:{MODELS / 'iterative'}"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "lumos_queue.cli.main",
            "evaluate",
            "webshop",
            "--split",
            "test",
            "--planner",
            model,
            "--grounder",
            model,
            "--shots",
            "0",
            "--limit",
            str(LIMIT),
            "--json",
        ],
        env={**os.environ, "LUMOS_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["finished"] == report["n"] == LIMIT
    assert report["ci95"][0] > report["baselines"][FIRST]["value"], report
