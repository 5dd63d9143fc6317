"""Builds from episodes of tool agents: a row for each call on the way to an accepted answer."""

from __future__ import annotations

import pytest

from db.queries.filters import Filter, Term
from db.queries.trajectories import stream_episodes
from lumos_queue.builds.options import BuildOptions
from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.records import Completion, Task
from tests import tool_apis
from tests.answer_files import tree_file
from tests.integration.made_builds import make, rows_in
from tests.integration.test_answer_files import CALLS, GIVEN, imported, infer, write
from tests.tool_scripts import give_up

FILES = {
    "react": {"policy_react": 3},
    "dfsdt": {"policy_dfsdt": 2},  # of four calls: the first branch gave up
    "sum2act": {"router_sum2act": 3, "state_manager_sum2act": 1},
    "rewoo": {"planner_rewoo": 1, "solver_rewoo": 1},
}
OPTIONS = {"format": "trl-sft", "formulations": ("react", "dfsdt", "sum2act", "rewoo")}


def played(tmp_path, formulation, given, split="train"):
    """A scored episode with these replies."""
    inputs = {**tool_apis.TASK.inputs, "answers": [tool_apis.record()], "given": given}
    task = Task("toolbench", "d", "7", "Where is parcel P1?", inputs, {"relevant": []})
    return infer(tmp_path, "", formulation, [task], scored=True, split=split)


@pytest.mark.parametrize("formulation", GIVEN)
def test_every_role_has_a_row_for_each_call(formulation, tmp_path):
    database, job = played(tmp_path, formulation, GIVEN[formulation])
    made = make(database, tmp_path / "build", where=f"job={job}", **OPTIONS)
    (episode,) = stream_episodes(database, Filter((Term("job", "=", job),)))
    stored = {(one.prompt, one.result.text.strip()) for one in episode.steps if isinstance(one.result, Completion)}
    counts = {}
    for file in made["files"]:
        rows = rows_in(tmp_path / "build" / file["file"])
        counts[file["file"].removeprefix("train/").removesuffix(".jsonl")] = len(rows)
        assert {(row["prompt"], row["completion"]) for row in rows} <= stored
        learnt = [list(one.pieces()) for one in read_conversations(tmp_path / "build" / file["file"])]
        assert learnt == [[(row["prompt"], False), (f"{row['completion']}</s>", True)] for row in rows]
    assert counts == FILES[formulation] and len(CALLS[formulation]) >= 2


def test_an_episode_without_an_answer_makes_no_row(tmp_path):
    database, job = played(tmp_path, "react", {"policy": [give_up()]})
    with pytest.raises(SpecError, match="gave_up"):
        make(database, tmp_path / "build", where=f"job={job}", **OPTIONS)


def test_rows_are_made_only_of_the_formulations_that_are_asked_for(tmp_path):
    database, job = played(tmp_path, "react", GIVEN["react"])
    with pytest.raises(SpecError, match="made by react"):
        make(database, tmp_path / "build", where=f"job={job}", **{**OPTIONS, "formulations": ("sum2act",)})


@pytest.mark.parametrize("split", ["I1-inst", "I3-inst", "test"])
def test_runs_and_files_of_the_test_queries_make_rows_only_where_that_is_said(split, tmp_path):
    database, job = played(tmp_path, "react", GIVEN["react"], split)
    found = imported(database, tmp_path, write(tmp_path / "files", x_1=tree_file()), split)
    for number, (one, rows) in enumerate(((job, 3), (found.job, 3))):
        with pytest.raises(SpecError, match=r"1 of a test split \(--allow-test uses them\)\."):
            make(database, tmp_path / f"none{number}", where=f"job={one}", **OPTIONS)
        made = make(database, tmp_path / f"build{number}", where=f"job={one}", allow_test=True, **OPTIONS)
        assert [file["rows"] for file in made["files"]] == [rows]


def test_a_question_that_is_stored_as_a_test_query_makes_no_row_elsewhere(tmp_path):
    database, _ = played(tmp_path, "react", GIVEN["react"], "I2-cat")
    _, job = played(tmp_path, "dfsdt", GIVEN["dfsdt"], "train")
    with pytest.raises(SpecError, match="1 of a test split stored here"):
        make(database, tmp_path / "build", where=f"job={job}", **OPTIONS)


def test_imported_searches_make_rows_of_the_path_to_their_answer(tmp_path):
    database, _ = played(tmp_path, "react", GIVEN["react"])
    found = imported(database, tmp_path, write(tmp_path / "files", x_1=tree_file()))
    made = make(database, tmp_path / "build", where=f"job={found.job}", **OPTIONS)
    assert [file["rows"] for file in made["files"]] == [3] and made["levels"] == {"format": 3}
    content = tree_file()
    nodes = content["tree"]["tree"]
    while nodes["children"]:
        nodes = nodes["children"][-1]
    nodes["observation_code"] = 4
    found = imported(database, tmp_path, write(tmp_path / "given up", x_1=content))
    with pytest.raises(SpecError, match="ended gave_up"):
        make(database, tmp_path / "none", where=f"job={found.job}", **OPTIONS)


@pytest.mark.parametrize("more", [{"format": "lumos"}, {"level": "format"}, {"reexecute": True}, {"perturbed": True}])
def test_options_that_do_not_fit_calls_are_refused(more):
    with pytest.raises(SpecError, match="trl-sft"):
        BuildOptions(**{**OPTIONS, **more})
