"""What stays and what goes where one more or one less would decide: repetitions, mixes, parts, tries, near texts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.builds import near_duplicates
from lumos_queue.builds.candidates import Rules, examine, failure_reason, task_exclusion
from lumos_queue.builds.contamination import TestSplits
from lumos_queue.builds.database_facts import DatabaseFacts
from lumos_queue.builds.difference import compare_builds
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.preferences import Try, examine_try, pairs
from lumos_queue.records import Completion, Execution, FinishReason, Verdict
from tests.unit.test_builds_choosing import TASK, episode, kept, lineage


def rules(stored: DatabaseFacts | None = None, **options) -> Rules:
    known = KnownBenchmarks()
    return Rules(BuildOptions(**options), known, TestSplits([], known), facts=stored or DatabaseFacts())


def run(number: int = 1, *sums: str, **changes):
    """An episode in which models planned and grounded, and got it right."""
    values = {"origin": "run", "level": "", "formulation": "iterative", "scores": {"accuracy": 1.0}}
    values |= {"main_metric": "accuracy"} | changes
    return replace(episode(number, *(sums or ("2 + 3",))), **values)


def about(row: str, number: int, *sums: str, **changes):
    """An episode of another task."""
    task = replace(TASK, row=row, question=f"How many {row} are left of so many?")
    return replace(episode(number, *(sums or ("2 + 3",))), task=replace(task, **changes.pop("task", {})), **changes)


# --- of equal solutions -----------------------------------------------------------------------------------------------


def test_of_equal_solutions_the_one_stays_of_which_most_can_be_made(tmp_path):
    """Then the better checked one; both before anything else that tells them apart, whatever was stored first."""
    half = episode(1, "2 + 3", level="perturbed", verdicts=(Verdict("planner", "result stated"),), origin="annotated")
    weak = episode(2, "2 + 3", level="format", origin="aaa")
    whole = episode(3, "2 + 3", level="executed", origin="zzz")
    for number, order in enumerate(permutations((half, weak, whole))):
        numbered = [replace(one, id=place) for place, one in enumerate(order, start=1)]
        _, rows = kept(tmp_path / str(number), *numbered)
        assert {name for _, name in rows} == {"abcdefgh-3"}


def test_a_repetition_of_what_a_person_corrected_is_not_left_in_its_place(tmp_path):
    """The corrected one goes first: its twin is told of a duplicate only among those that stay."""
    twin, other = episode(2, "2 + 3"), episode(3, "3 + 2", origin="corrected", parent=1)
    manifest, rows = kept(tmp_path, episode(1, "2 + 3"), twin, other)
    assert manifest["episodes"]["left_out"] == {"corrected by a person": 1}
    assert {name for _, name in rows} == {"abcdefgh-2", "abcdefgh-3"}


def test_the_best_of_a_task_has_few_subgoals_before_few_words(tmp_path):
    long = episode(1, "2 + 3 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0")
    short = episode(2, "2", "3")
    for select in ("best", "shortest"):
        _, rows = kept(tmp_path / select, long, short, select=select, per_task=1)
        assert {name for _, name in rows} == {"abcdefgh-1"}


# --- mixes and parts --------------------------------------------------------------------------------------------------


def mixed(folder, counts: dict[str, int], **options) -> Counter[str]:
    """How many episodes of each benchmark stay."""
    number, episodes = 0, []
    for benchmark, count in counts.items():
        for _ in range(count):
            number += 1
            episodes.append(about(f"things {number}", number, task={"benchmark": benchmark}))
    kept(folder, *episodes, **options)
    named = {row["episode"]: row["id"].partition("/")[0] for row in lineage(folder)}
    return Counter(named.values())


def test_a_mix_takes_as_much_as_its_scarcest_part_allows(tmp_path):
    mix = {"gsm8k": 0.7, "svamp": 0.3}
    assert mixed(tmp_path / "a", {"gsm8k": 14, "svamp": 20}, mix=mix) == {"gsm8k": 14, "svamp": 6}
    assert mixed(tmp_path / "b", {"gsm8k": 20, "svamp": 3}, mix=mix) == {"gsm8k": 7, "svamp": 3}
    assert mixed(tmp_path / "c", {"gsm8k": 5, "svamp": 5, "mawps": 5}, mix={"gsm8k": 1.0}) == {"gsm8k": 5}


@pytest.mark.parametrize("held", range(1, 30))
def test_a_share_that_comes_out_whole_loses_nothing_to_rounding(tmp_path, held):
    third = 1 / 3
    found = mixed(tmp_path, {"gsm8k": held, "svamp": 2 * held}, mix={"gsm8k": third, "svamp": 1 - third})
    assert found == {"gsm8k": held, "svamp": 2 * held}


def test_the_seed_says_which_of_a_mix_stay(tmp_path):
    chosen = set()
    for seed in range(4):
        mixed(tmp_path / str(seed), {"gsm8k": 10, "svamp": 3}, mix={"gsm8k": 0.5, "svamp": 0.5}, seed=seed)
        chosen.add(frozenset(row["id"] for row in lineage(tmp_path / str(seed))))
    assert len(chosen) > 1


def test_builds_of_other_annotations_have_the_same_rows(tmp_path):
    rows = []
    for name, sums in (("a", "2 + 3"), ("b", "3 + 2")):
        folder = tmp_path / name
        kept(folder, *(about(chr(96 + number), number, sums) for number in range(1, 21)), rows=7, seed=3)
        rows.append({row["id"] for row in lineage(folder)})
    assert rows[0] == rows[1] and len(rows[0]) == 7


def test_the_seed_says_which_of_all_rows_stay(tmp_path):
    chosen = set()
    for seed in range(4):
        manifest, _ = kept(tmp_path / str(seed), *(about(chr(96 + n), n) for n in range(1, 13)), rows=5, seed=seed)
        assert manifest["episodes"]["left_out"] == {"beyond the number of rows": 7}
        chosen.add(frozenset(row["id"] for row in lineage(tmp_path / str(seed))))
    assert len(chosen) > 1


def test_two_wordings_of_one_problem_lie_in_the_same_part(tmp_path):
    """They differ in numbers and names alone: else dev would be known from train."""
    names = ["pens", "nuts", "cups", "hats", "pins", "cans", "eggs", "toys", "keys", "figs", "jars", "bows"]
    episodes = []
    for number, name in enumerate(names):
        for place, who in enumerate(("Bill", "Tom", "Mary")):
            question = f"{who} has {number + place + 2} {name} and finds more. How many {name} are there?"
            task = replace(TASK, row=f"{name} {who}", question=question)
            episodes.append(replace(episode(len(episodes) + 1, f"{number} + {place}"), task=task))
    kept(tmp_path, *episodes, dev_share=0.5)
    parts: dict[str, set[str]] = {}
    for row in (row for row in lineage(tmp_path) if "planner" in row["file"]):
        parts.setdefault(row["id"].split("/")[1].split()[0], set()).add(row["file"][:4])
    assert all(len(found) == 1 for found in parts.values())
    assert {found.pop() == "dev/" for found in parts.values()} == {True, False}, "there is something in each part"


# --- what is a success, and what may be trained on --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"scores": {"accuracy": 0.99}}, "wrong answer"),
        ({"scores": {"strict": 1.0}}, "not scored"),
        ({"scores": {}}, "not scored"),
        ({"scores": {"accuracy": 1.0, "strict": 0.0}}, ""),
        ({"ending": "limit"}, "ended limit"),
        ({"origin": "derived", "ending": "limit"}, "ended limit"),
        ({"origin": "derived", "scores": {"accuracy": 0.0}}, "wrong answer"),
        ({"origin": "converted", "ending": "unreadable"}, ""),
    ],
)
def test_a_success_is_a_run_that_answered_and_is_wholly_right(changes, reason):
    assert failure_reason(run(**changes)) == reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "of a test split"),
        ({"allow_contaminated": True}, "of a test split"),
        ({"allow_test": True}, ""),
    ],
)
def test_a_test_split_is_for_those_who_say_so(options, reason):
    assert task_exclusion(run(split="test"), rules(**options)) == reason


@pytest.mark.parametrize("options", [{}, {"allow_test": True}])
def test_what_stands_in_a_test_split_is_refused_whoever_allows_test_splits(tmp_path, options):
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps({"question": TASK.question, "answer": "#### 5"}))
    found = replace(rules(**options), splits=TestSplits([f"gsm8k:{path}"], KnownBenchmarks()))
    assert task_exclusion(run(), found) == "stands in gsm8k:test.jsonl: equal text"
    allowed = rules(allow_contaminated=True)
    assert task_exclusion(run(), replace(allowed, splits=found.splits)) == ""


def failing(number: int, stated: str, **changes):
    """An annotation whose action cannot run; what it states comes to `stated`."""
    one = episode(number, "2 + 3", level="format", **changes)
    action = replace(one.steps[1].detail, name="Foo", raw=f"R1 = Foo(2 + 3){stated}")
    return replace(one, steps=(one.steps[0], replace(one.steps[1], detail=action, result=Execution("unknown_action"))))


def test_an_action_that_failed_spoils_the_row_of_who_would_learn_it():
    spoilt = (Verdict("grounder", "unknown action"),)
    candidate = examine(failing(1, " = 5", verdicts=spoilt), rules())
    assert not isinstance(candidate, str) and candidate.modules == ("planner",)
    assert examine(failing(1, " = 5"), rules()) == "an action failed", "the grounder's row was not rejected"
    assert examine(failing(1, "", verdicts=spoilt), rules()) == "an action failed", "the planner is told no result"


def test_a_role_some_of_whose_replies_were_given_is_named():
    def asked(position: int, role: str, reason: str) -> RecordedStep:
        return RecordedStep(position, 0, "", Completion("x", reason), None, role, "p")

    replies = asked(0, "planner", FinishReason.GIVEN), asked(1, "planner", "stop"), asked(1, "grounder", "stop")
    one = run()
    candidate = examine(replace(one, steps=(*replies, *one.steps)), rules())
    assert not isinstance(candidate, str) and candidate.find_prefilled_roles() == ["planner"]


# --- near texts -------------------------------------------------------------------------------------------------------


def test_similarity_is_the_part_of_all_runs_that_is_in_both():
    one, other = near_duplicates.shingles("a b c d e"), near_duplicates.shingles("b c d e f g")
    assert (len(one), len(other), near_duplicates.similarity(one, other)) == (3, 4, 2 / 5)
    assert near_duplicates.similarity(one, near_duplicates.shingles("A  b c d E")) == 1
    assert len(near_duplicates.shingles("a b")) == len(
        near_duplicates.shingles("a b c")
    ) == 1 and near_duplicates.shingles("a b") != near_duplicates.shingles("a b c")
    assert near_duplicates.shingles("x a b c") - near_duplicates.shingles("x a b") == near_duplicates.shingles(
        "a b c"
    ), "the last run is one of them"


def test_texts_as_similar_as_the_threshold_are_near(tmp_path):
    one, other = episode(1, "2 + 3"), episode(2, "2 + 3", "5 + 0")
    texts = []
    for each in (one, other):
        candidate = examine(each, rules())
        assert not isinstance(candidate, str)
        texts.append(near_duplicates.shingles(candidate.solution()))
    alike = near_duplicates.similarity(*texts)
    assert 0.3 < alike < 1
    assert kept(tmp_path / "at", one, other, near=alike)[0]["episodes"]["left_out"] == {"near-duplicate": 1}
    assert kept(tmp_path / "above", one, other, near=alike + 1e-9)[0]["episodes"]["left_out"] == {}


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.9])
def test_pairs_at_the_threshold_are_missed_in_fewer_than_one_of_thirty(threshold):
    """Fewer than 1 % in theory; 300 pairs cannot show that, and can show a width that is too large."""
    words = [f"w{number}" for number in range(4000)]
    missed = 0
    for pair in range(300):
        # Runs in both, and as many more in each that the similarity is just the threshold.
        both = words[pair : pair + 90]
        apart = round((len(both) - 2) * (1 / threshold - 1) / 2)
        one, other = (
            near_duplicates.shingles(" ".join([*both, *(f"{side}{pair} {n}" for n in range(apart // 2 + 1))]))
            for side in "xy"
        )
        missed += not set(near_duplicates.bands(one, threshold)) & set(near_duplicates.bands(other, threshold))
    assert missed <= 10


def test_short_texts_share_bands_only_where_they_share_runs():
    """Most of the bins of a short text are empty, and empty bins are no likeness."""
    one, other = near_duplicates.shingles("eleven pens and nine"), near_duplicates.shingles("how far is it")
    assert not set(near_duplicates.bands(one, 0.8)) & set(near_duplicates.bands(other, 0.8))


# --- pairs and differences --------------------------------------------------------------------------------------------


def test_a_try_is_compared_up_to_where_it_first_says_something_else():
    good = Try(1, True, (("planner", "p1", "a"), ("planner", "p2", "b")))
    bad = Try(2, False, (("planner", "p1", "x"), ("planner", "p2", "y")))
    found = list(pairs([good, bad]))
    assert [pair["prompt"] for _, pair, _, _ in found] == ["p1"]


def test_chosen_is_what_most_successful_tries_say_and_of_equals_the_first_in_order():
    bad = Try(9, False, (("planner", "p", "x"),))
    says = [Try(number, True, (("planner", "p", reply),)) for number, reply in enumerate("cbbaac")]
    ((_, pair, good, _),) = pairs([*says, bad])
    assert pair["chosen"] == "a" and good == 3
    ((_, pair, good, _),) = pairs([*says, Try(7, True, (("planner", "p", "c"),)), bad])
    assert pair["chosen"] == "c" and good == 0
    twice = list(pairs([*says, bad, replace(bad, candidate=10)]))
    assert len(twice) == 1, "the same pair is no second pair"


@pytest.mark.parametrize(
    ("changes", "stored", "found"),
    [
        ({}, {}, True),
        ({"scores": {"accuracy": 0.0}}, {}, False),
        ({"ending": "limit"}, {}, False),
        ({"ending": "infra_error"}, {}, "ended infra_error"),
        ({"scores": {}}, {}, "not scored"),
        ({"formulation": "one-pass"}, {}, "no iterative run"),
        ({"origin": "converted"}, {}, "no iterative run"),
        ({}, {"corrected": frozenset({1})}, "corrected by a person"),
        ({}, {"wrong": frozenset({1})}, "labelled wrong by a person"),
        ({"scores": {"accuracy": 0.0}}, {"corrected": frozenset({1}), "wrong": frozenset({1})}, False),
    ],
)
def test_which_tries_are_compared(changes, stored, found):
    examined = examine_try(run(**changes), rules(DatabaseFacts(**stored), format="trl-preference"))
    assert (examined if isinstance(examined, str) else examined[1]) == found


def test_a_difference_says_which_side_a_row_is_on_and_which_say_something_else(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    kept(one, about("pens", 1), about("nuts", 2, "2 + 3"), about("cups", 3))
    kept(other, about("nuts", 2, "3 + 2"), about("cups", 3), about("hats", 4), seed=3)
    found = compare_builds(one / "x", other / "x")
    grounder = {
        side: [(row["id"], row["rows"]) for row in found[side] if row["file"].startswith("grounder")]
        for side in ("only_a", "only_b", "changed")
    }
    assert grounder == {
        "only_a": [("wordmath/pens", 1)],
        "only_b": [("wordmath/hats", 1)],
        "changed": [("wordmath/nuts", 1)],
    }
    assert found["options"] == {"seed": [0, 3]}


def test_builds_of_two_formats_are_compared_file_by_file(tmp_path):
    for format in ("lumos", "parquet"):
        kept(tmp_path / format, about("pens", 1), about("nuts", 2), format=format)
    found = compare_builds(tmp_path / "lumos" / "x", tmp_path / "parquet" / "x")
    assert not found["only_a"] and not found["only_b"]
    assert found["same"] + sum(row["rows"] for row in found["changed"]) == 4
    assert found["options"] == {"format": ["lumos", "parquet"]}


def test_a_difference_counts_rows_and_not_kinds_of_rows(tmp_path):
    """Two rows of one place that say the same are two."""
    for name, count in (("one", 3), ("other", 2)):
        folder = tmp_path / name
        kept(folder, about("pens", 1))
        path = folder / "x" / "lineage.jsonl"
        first = path.read_text().splitlines()[0]
        path.write_text(f"{first}\n" * count)
    found = compare_builds(tmp_path / "one" / "x", tmp_path / "other" / "x")
    assert found["same"] == 2 and [row["rows"] for row in found["only_a"]] == [1] and not found["only_b"]
