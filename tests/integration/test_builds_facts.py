"""What a database knows besides a build's own episodes: test splits, labels, corrections."""

from __future__ import annotations

import pytest

from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from db.review.labels import NewLabel, add_labels
from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.builds.database_facts import read_database_facts
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.review.corrections import correct
from lumos_queue.review.edits import Changes
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.integration.made_builds import make, rows_in
from tests.integration.rollout_jobs import rows_of
from tests.stored_rows import run_embedded
from tests.wordmath_rows import read_training_rows


def test_episodes_of_a_test_split_are_refused_unless_allowed(tmp_path):
    rows = read_rows(benchmark, None, "test", False)
    held_out, _ = run_embedded(tmp_path, Convert("wordmath", rows.digest, "test", limit=3), rows)
    with pytest.raises(SpecError, match="3 of a test split"):
        make(held_out, tmp_path / "one")
    assert make(held_out, tmp_path / "one", allow_test=True)["episodes"]["used"] == 3
    held_out.close()


def test_what_the_same_database_holds_as_a_test_split_is_no_training_row(tmp_path):
    """The rows were converted as 'train'; three of them are evaluated as 'test', by a job that has not even run."""
    rows = read_training_rows()
    database, _ = run_embedded(tmp_path, Convert("wordmath", rows.digest, "train", limit=6), rows)
    tests = rows_of(benchmark, rows.tasks[:3], "test")
    agent = Agent(roles={"planner": "tgi://127.0.0.1:1", "grounder": "tgi://127.0.0.1:1"}, domain="maths")
    job = Evaluate(Infer("wordmath", tests.digest, "test", "iterative", agent))
    submit(database, Settings(home=tmp_path), job, tests)
    found = make(database, tmp_path / "one", where="origin=converted")
    assert found["episodes"]["left_out"]["of a test split stored here"] >= 3
    assert found["contamination"]["stored here"] == {"rows": 3, "unreadable": 0}
    assert not {f"wordmath/{task.row}" for task in tests.tasks} & {
        row["id"] for row in rows_in(tmp_path / "one" / "lineage.jsonl")
    }
    every = make(database, tmp_path / "two", where="origin=converted", allow_test=True)
    assert every["episodes"]["used"] == 6 and every["contamination"]["stored here"] == "not checked"
    database.close()


def test_people_decide_by_labels_and_corrections(tmp_path):
    rows = read_training_rows()
    database, _ = run_embedded(tmp_path, Convert("wordmath", rows.digest, "train", limit=5), rows)
    stored = list(stream_episodes(database, parse_where("")))
    first, second, third, fourth, _ = (one.id for one in stored)
    place = stored[1].steps[0]
    add_labels(
        database,
        [
            NewLabel(first, "wrong", "ann"),
            NewLabel(first, "right", "bob"),
            NewLabel(second, "wrong", "ann", position=place.position, branch=place.branch),
            NewLabel(second, "right", "ann"),
            NewLabel(third, "wrong", "ann"),
            NewLabel(third, "right", "ann"),
        ],
    )
    correction = correct(database, Settings(home=tmp_path), stored[3].name, Changes(subgoals={1: "Add them up."}))
    assert correction.level and read_database_facts(database).corrected == {fourth}
    found = make(database, tmp_path / "one", where="origin=converted")
    assert found["episodes"]["left_out"] == {
        "labelled wrong by a person": 2,
        "corrected by a person, and the correction is not among those that fit": 1,
    }
    names = {row["episode"] for row in rows_in(tmp_path / "one" / "lineage.jsonl")}
    assert names == {stored[2].name, stored[4].name}
    found = make(database, tmp_path / "two", where="sample=0")
    assert found["episodes"]["left_out"] == {"labelled wrong by a person": 2, "corrected by a person": 1}
    assert correction.episode in {row["episode"] for row in rows_in(tmp_path / "two" / "lineage.jsonl")}
    make(database, tmp_path / "three", where="label=wrong")
    assert {row["episode"] for row in rows_in(tmp_path / "three" / "lineage.jsonl")} == {stored[0].name}
    database.close()
