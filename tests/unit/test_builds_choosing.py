"""Which episodes stay: corrections, a planner whose grounder was rejected, the best, the nearest, the well checked."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from db.journal.step_records import RecordedStep
from db.kinds.totals import NO_TOTALS
from db.queries.trajectories import StoredEpisode
from lumos_queue.builds.build import build
from lumos_queue.builds.contamination import text_key
from lumos_queue.builds.database_facts import DatabaseFacts
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Completion, Execution, FinishReason, Subgoal, Task, Verdict

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
        number,
        "abcdefgh",
        number,
        TASK,
        0,
        "annotation",
        "",
        "converted",
        "train",
        "MIT",
        None,
        "executed",
        1,
        "answered",
        "5",
        "",
        NO_TOTALS,
        float(number),
        {"executed": 1.0},
        steps=tuple(steps),
        main_metric="executed",
    )
    return replace(made, **changes)


def kept(
    folder: Path, *episodes: StoredEpisode, stored: DatabaseFacts | None = None, **options
) -> tuple[dict, list[tuple[str, str]]]:
    """The manifest, and (file, episode) of each row."""
    manifest, _ = build(episodes, "x", folder / "x", BuildOptions(**options), KnownBenchmarks(), stored)
    return manifest, [(row["file"], row["episode"]) for row in lineage(folder)]


def lineage(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "x" / "lineage.jsonl").read_text().splitlines()]


def test_a_corrected_episode_gives_way_to_its_correction(tmp_path):
    other = episode(2, "3 + 2", origin="corrected", parent=1)
    manifest, rows = kept(tmp_path, episode(1, "2 + 3"), other)
    assert {name for _, name in rows} == {"abcdefgh-2"}
    assert manifest["episodes"]["left_out"] == {"corrected by a person": 1}


def test_a_corrected_episode_is_left_out_also_when_its_correction_is_not_read(tmp_path):
    other = replace(episode(2, "3 + 2"), task=replace(TASK, row="8", question="And now?"))
    manifest, rows = kept(tmp_path, episode(1, "2 + 3"), other, stored=DatabaseFacts(corrected=frozenset({1})))
    assert {name for _, name in rows} == {"abcdefgh-2"}
    assert manifest["episodes"]["left_out"] == {
        "corrected by a person, and the correction is not among those that fit": 1
    }


def test_what_a_person_calls_wrong_is_left_out_unless_the_query_chooses_by_labels(tmp_path):
    both, stored = (episode(1, "2 + 3"), episode(2, "3 + 2")), DatabaseFacts(wrong=frozenset({1}))
    manifest, rows = kept(tmp_path / "one", *both, stored=stored)
    assert {name for _, name in rows} == {"abcdefgh-2"}
    assert manifest["episodes"]["left_out"] == {"labelled wrong by a person": 1}
    _, rows = kept(tmp_path / "two", *both, stored=stored, where="origin=converted label=wrong")
    assert {name for _, name in rows} == {"abcdefgh-1", "abcdefgh-2"}


def test_a_task_that_is_stored_as_one_of_a_test_split_is_refused(tmp_path):
    other = replace(episode(2, "2 + 3"), task=replace(TASK, row="8", question="Why?"))
    tests = DatabaseFacts(frozenset({text_key(TASK.question.replace("2", "9"))}), True)
    manifest, rows = kept(tmp_path / "one", episode(1, "2 + 3"), other, stored=tests)
    assert {name for _, name in rows} == {"abcdefgh-2"}
    assert manifest["episodes"]["left_out"] == {"of a test split stored here": 1}
    assert manifest["contamination"]["stored here"] == {"rows": 1, "unreadable": 0}
    manifest, rows = kept(tmp_path / "two", episode(1, "2 + 3"), other, stored=tests, allow_test=True)
    assert len({name for _, name in rows}) == 2
    assert kept(tmp_path / "three", other)[0]["contamination"]["stored here"] == "not checked"


@pytest.mark.parametrize("format", ["lumos", "parquet"])
def test_of_equal_solutions_the_strictest_licence_stays_whatever_was_stored_first(tmp_path, format):
    free = episode(1, "2 + 3", licence="MIT", level="perturbed")
    unknown = episode(2, "2 + 3", licence="")
    bound = episode(3, "2 + 3", licence="CC BY-NC 4.0", origin="imported")
    same = episode(4, "2 + 3", licence="CC BY-NC 4.0", origin="converted")
    digests = set()
    for number, order in enumerate(permutations((free, unknown, bound, same))):
        numbered = [replace(one, id=place) for place, one in enumerate(order)]
        manifest, rows = kept(tmp_path / str(number), *numbered, format=format)
        assert {name for _, name in rows} == {"abcdefgh-4"}
        assert manifest["licences"] == {"CC BY-NC 4.0": {"wordmath": 2}} and manifest["origins"] == {"converted": 2}
        digests.add(manifest["digest"])
    assert len(digests) == 1
    another = replace(episode(5, "1 + 4"), task=replace(TASK, row="8", question="And now?"))
    assert {name for _, name in kept(tmp_path / "two", free, unknown, another)[1]} == {"abcdefgh-2", "abcdefgh-5"}


def test_of_equal_solutions_with_other_capitals_the_same_one_stays_whatever_was_stored_first(tmp_path):
    one = episode(1, "2 + 3")
    loud = replace(one.steps[0], detail=Subgoal(1, "Subgoal 1: WORK OUT A SUM."))
    other = replace(one, id=2, ordinal=2, steps=(loud, one.steps[1]))
    first, second = kept(tmp_path / "one", one, other)[0], kept(tmp_path / "two", other, one)[0]
    assert first["digest"] == second["digest"] and first["episodes"]["used"] == 1


def test_the_split_of_a_task_does_not_depend_on_the_seed(tmp_path):
    names = ["pens", "nuts", "cups", "hats", "pins", "cans", "eggs", "toys", "keys", "figs"]
    tasks = [replace(TASK, row=name, question=f"How many {name} are left?") for name in names]
    tries = [replace(episode(number, "2 + 3"), task=task) for number, task in enumerate(tasks, start=1)]
    parts = []
    for seed in range(4):
        kept(tmp_path / str(seed), *tries, dev_share=0.5, seed=seed)
        parts.append({row["id"] for row in lineage(tmp_path / str(seed)) if row["file"].startswith("dev/")})
    assert 0 < len(parts[0]) < len(names) and parts == parts[:1] * 4
    kept(tmp_path / "less", *tries, dev_share=0.3)
    assert {row["id"] for row in lineage(tmp_path / "less") if row["file"].startswith("dev/")} < parts[0]


def test_a_reply_to_the_same_prompt_is_one_row_of_trl_sft(tmp_path):
    tries = episode(1, "2 + 3"), episode(2, "2 + 3", "5 + 0")
    manifest, rows = kept(tmp_path, *tries, format="trl-sft")
    for name in ("planner_iterative", "grounder_iterative"):
        lines = (tmp_path / "x" / f"{name}.jsonl").read_text().splitlines()
        assert len(lines) == len(set(lines))
    # Both begin alike: the first subgoal and its action; after it, one planner stops and the other goes on.
    assert manifest["repeated_rows"] == 2 and manifest["rows"] == len(rows) == 2 + 3 + 1 + 2 - 2
    assert sum(manifest["licences"]["MIT"].values()) == manifest["rows"]
    assert kept(tmp_path / "whole", *tries)[0]["repeated_rows"] == 0


def test_lineage_says_what_of_a_derived_episode_was_given(tmp_path):
    helped, alone = episode(1, "2 + 3"), episode(2, "3 + 2", origin="run", level="")
    reply = RecordedStep(
        1, 0, "", Completion("Subgoal 1: Work out a sum.", FinishReason.GIVEN), None, "planner", "prompt"
    )
    task = replace(TASK, inputs={"from": {"episode": "abcdefgh-9", "row": "7", "subgoals": 0, "gold": "planner"}})
    helped = replace(helped, origin="derived", level="", task=task, steps=(reply, *helped.steps))
    manifest, _ = kept(tmp_path, helped, alone)
    told = {row["episode"]: (row["origin"], row.get("given"), row.get("gold")) for row in lineage(tmp_path)}
    assert told == {"abcdefgh-1": ("derived", ["planner"], "planner"), "abcdefgh-2": ("run", None, None)}
    assert manifest["origins"] == {"derived": 2, "run": 2}


def test_nothing_left_says_why(tmp_path):
    with pytest.raises(SpecError, match="1 labelled wrong by a person"):
        kept(tmp_path, episode(1, "2 + 3"), stored=DatabaseFacts(wrong=frozenset({1})))


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
    failed = episode(
        2, "2 + 3", ending="unreadable", answer=None, level="format", verdicts=(Verdict("grounder", "unknown action"),)
    )
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
        "planner": {"overlong": 1, "result stated": 1},
        "grounder": {"overlong": 1, "unknown action": 1},
        "noted": {"noted": 1},
    }


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
