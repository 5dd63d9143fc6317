"""Make the jobs of the pictures: two real evaluations by the starter agent, annotations, labels, a training set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from db.engine.connection import open_database
from db.models import Item
from db.review.audits import samples_of
from db.review.labels import NewLabel, add_labels
from lumos_queue.settings import Settings
from tests.conftest import ROOT

AUDIT, BUILD = "first-look", "first"
LABELLED = 12  #: samples of the audit with labels


@dataclass(frozen=True, slots=True)
class SampleNames:
    """Names of the stored samples."""

    jobs: tuple[str, str]
    short: str  #: an evaluation like the first, with at most one subgoal
    wrong: str  #: an episode with a wrong answer
    task: int  #: key of its task
    audit: str = AUDIT
    build: str = BUILD


def store_samples(home: Path, tasks: int) -> SampleNames:
    """Evaluate and convert in that folder. The same commands find jobs that exist already."""
    options = ["--agent", "starter", "--split", "familiar", "--limit", str(max(1, tasks // 2))]
    first = _lumos(home, "evaluate", "wordmath", *options, "--name", "one subgoal at a time")["job"]
    second = _lumos(home, "evaluate", "wordmath", *options, "--formulation", "one-pass", "--name", "all at once")["job"]
    short = _lumos(home, "evaluate", "wordmath", *options, "--max-subgoals", "1", "--name", "one subgoal")["job"]
    _lumos(home, "convert", "wordmath", "--deterministic", "--split", "train", "--limit", "300")
    if not (home / "builds" / BUILD).exists():
        where = "origin=converted level>=executed"
        _lumos(home, "audit", "draw", AUDIT, "--where", where, "--size", "60")
        _label(home)
        _lumos(home, "dataset", "build", BUILD, "--where", where)
    wrong_episode = _lumos(home, "episodes", first, "--where", "score<1", "--limit", "1")["episodes"][0]["episode"]
    return SampleNames((first, second), short, wrong_episode, _load_task(home, wrong_episode))


def _load_task(home: Path, episode: str) -> int:
    database = open_database(Settings(home=home).database)
    job, _, ordinal = episode.rpartition("-")
    with database.engine.connect() as connection:
        query = select(Item.task).where(Item.job == job, Item.ordinal == int(ordinal))
        task = connection.execute(query).scalar_one()
    database.close()
    return task


def _label(home: Path) -> None:
    """Add labels of two users."""
    database = open_database(Settings(home=home).database)
    with database.engine.connect() as connection:
        samples = samples_of(connection, AUDIT)[:LABELLED]
    labels = [NewLabel(sample.episode, "right", "ben@there", audit=AUDIT) for sample in samples]
    labels += [
        NewLabel(sample.episode, "wrong" if sample.number == 3 else "right", "cleo@there", "as written", audit=AUDIT)
        for sample in samples[: LABELLED // 2]
    ]
    add_labels(database, labels)
    database.close()


def _lumos(home: Path, *arguments: str) -> dict:
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    environment = os.environ | {"LUMOS_HOME": str(home), "LUMOS_USER": "ann@here"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if ran.returncode not in (0, 3):
        raise RuntimeError(f"lumos {' '.join(arguments)}: {ran.stderr}")
    return json.loads(ran.stdout.splitlines()[-1])
