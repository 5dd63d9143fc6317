"""Which episodes stay: corrections, a planner whose grounder was rejected, the best, the nearest, the well checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from db.journal import RecordedStep
from db.trajectories import StoredEpisode
from lumos_queue.builds.build import build
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.sources import Sources
from lumos_queue.records import Action, Execution, Subgoal, Task, Verdict

TASK = Task("wordmath", "d", "7", "Ann has 2 pens and buys 3 more. How many pens has she?", {}, {"answer": "5"})


def episode(number: int, *sums: str, **changes) -> StoredEpisode:
    """An annotated episode that does these sums, one for each subgoal."""
    steps = []
    for place, formula in enumerate(sums, start=1):
        steps.append(RecordedStep(2 * place, 0, "", None, Subgoal(place, f"Subgoal {place}: Work out a sum.")))
        done = Execution("ok", "5", ({"text": "5"},))
        action = Action((f"R{place}",), "Calculator", formula, f"R{place} = Calculator({formula}) = 5")
        steps.append(RecordedStep(2 * place + 1, 0, "", done, action))
    made = StoredEpisode(
        number, "abcdefgh", number, TASK, 0, "annotation", "", "converted", "train", "MIT", None, "executed", 1,
        "answered", "5", "", 0, 0, 0, float(number), {"executed": 1.0}, steps=tuple(steps),
    )  # fmt: skip
    return replace(made, **changes)


def kept(folder: Path, *episodes: StoredEpisode, **options) -> tuple[dict, list[tuple[str, str]]]:
    """The manifest, and (file, episode) of each row."""
    manifest, _ = build(episodes, "x", folder / "x", BuildOptions(**options), Sources())
    lines = (folder / "x" / "lineage.jsonl").read_text().splitlines()
    return manifest, [(row["file"], row["episode"]) for row in map(json.loads, lines)]


def test_a_corrected_episode_gives_way_to_its_correction(tmp_path):
    other = episode(2, "3 + 2", origin="corrected", parent=1)
    manifest, rows = kept(tmp_path, episode(1, "2 + 3"), other)
    assert {name for _, name in rows} == {"abcdefgh-2"}
    assert manifest["episodes"]["left_out"] == {"corrected by a person": 1}


def test_the_first_of_a_task_are_those_asked_for(tmp_path):
    tries = episode(1, "1 + 1", "2 + 3"), episode(2, "2 + 3"), episode(3, "1 + 4", "1 + 1", "2 + 3")
    for select, wanted in (("shortest", "abcdefgh-2"), ("newest", "abcdefgh-3"), ("best", "abcdefgh-2")):
        _, rows = kept(tmp_path / select, *tries, select=select, per_task=1)
        assert {name for _, name in rows} == {wanted}
    better = replace(tries[0], level="perturbed")
    _, rows = kept(tmp_path / "level", better, *tries[1:], select="best", per_task=1)
    assert {name for _, name in rows} == {"abcdefgh-1"}


def test_each_module_is_accepted_or_rejected_by_itself(tmp_path):
    stated = episode(
        1, "2 + 3", verdicts=(Verdict("planner", "result stated"), Verdict("grounder", "noted", "", False))
    )
    failed = episode(2, "2 + 3", ending="unreadable", answer=None, level="format",
                     verdicts=(Verdict("grounder", "unknown action"),))  # fmt: skip
    broken = Execution("unknown_action", "", (), "no such action")
    steps = (
        failed.steps[0],
        replace(failed.steps[1], result=broken, detail=Action(("R1",), "Foo", "2", "R1 = Foo(2) = 5")),
    )
    neither = episode(3, "4 + 1", verdicts=(Verdict("planner", "overlong"), Verdict("grounder", "overlong")), level="")
    manifest, rows = kept(tmp_path, stated, replace(failed, steps=steps), neither)
    assert rows == [("grounder_iterative.jsonl", "abcdefgh-1"), ("planner_iterative.jsonl", "abcdefgh-2")]
    planner = json.loads((tmp_path / "x" / "planner_iterative.jsonl").read_text())
    assert "The executed result for Subgoal 1 is 5." in planner["messages"][2]["content"]
    assert manifest["episodes"]["left_out"] == {"rejected: overlong": 1}
    assert manifest["verdicts"] == {
        "planner": {"overlong": 1, "result stated": 1}, "grounder": {"overlong": 1, "unknown action": 1},
        "noted": {"noted": 1},
    }  # fmt: skip


def test_a_level_is_the_least_that_is_taken(tmp_path):
    low, high = episode(1, "2 + 3", level="format"), episode(2, "3 + 2", level="perturbed")
    manifest, rows = kept(tmp_path, low, high, level="executed")
    assert {name for _, name in rows} == {"abcdefgh-2"} and manifest["levels"] == {"perturbed": 2}
    assert manifest["episodes"]["left_out"] == {"checked less than executed": 1}


def test_what_gives_other_results_when_run_again_is_left_out(tmp_path):
    manifest, rows = kept(tmp_path, episode(1, "2 + 3"), episode(2, "2 + 4"), reexecute=True)
    assert {name for _, name in rows} == {"abcdefgh-1"}
    assert manifest["episodes"]["left_out"] == {"another result when run again": 1}


def test_near_duplicates_leave_the_first(tmp_path):
    tries = [episode(1, "2 + 3"), episode(2, "2 + 3", "5 + 0")]
    assert len(kept(tmp_path / "far", *tries, near=0.95)[1]) == 4
    manifest, rows = kept(tmp_path / "near", *tries, near=0.4)
    assert len(rows) == 2 and manifest["episodes"]["left_out"] == {"near-duplicate": 1}


def test_rows_do_not_depend_on_the_order_in_which_episodes_were_stored(tmp_path):
    rows = [replace(TASK, row=str(number), question=f"{number} pens and 2 more?") for number in (9, 10, 11)]
    tries = [replace(episode(number, "2 + 3"), task=task) for number, task in enumerate(rows, start=1)]
    one, _ = kept(tmp_path / "one", *tries)
    other, _ = kept(tmp_path / "other", *tries[::-1])
    assert one["digest"] == other["digest"]
    lines = (tmp_path / "one" / "x" / "planner_iterative.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["wordmath/9", "wordmath/10", "wordmath/11"]
