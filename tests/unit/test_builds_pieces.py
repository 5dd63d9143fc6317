"""The parts of a build, one by one: what counts as the same, as near, as contaminated, as an annotation."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.builds import near_duplicates
from lumos_queue.builds.annotations import annotation_of, count_failed_actions, one_pass_annotation_of, planner_only
from lumos_queue.builds.contamination import TestSplits, task_key
from lumos_queue.builds.folder import MANIFEST, folder_of, load_existing_build, open_staging_folder, publish
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.licences import is_non_commercial, strictness, warning
from lumos_queue.builds.options import BuildOptions, read_mix
from lumos_queue.builds.preferences import Try, pairs
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Completion, Execution, Subgoal
from lumos_queue.settings import Settings

SUM = Action(("R1",), "Calculator", "1 + 1", "R1 = Calculator(1 + 1)")


def steps(*parts) -> list[RecordedStep]:
    found = []
    for position, part in enumerate(parts):
        if isinstance(part, str):
            found.append(RecordedStep(position, 0, "", Completion("reply", "stop"), None, part, "prompt"))
        elif isinstance(part, int):
            found.append(RecordedStep(position, 0, "", None, Subgoal(part, f"Subgoal {part}: add.")))
        else:
            found.append(RecordedStep(position, 0, "", part, SUM))
    return found


TWO = Execution("ok", "2", ({"text": "2"},))


def test_an_annotation_is_what_follows_the_last_reply_of_a_teacher():
    run = annotation_of(steps("planner", 1, "grounder", TWO, "planner", 2, "grounder", TWO, TWO, "planner"), "2")
    assert run is not None and [len(step.actions) for step in run.steps] == [1, 2] and run.answer == "2"
    assert run.steps[1].results == ("2", "2")
    taught = annotation_of(steps("teacher", 1, TWO, 2, TWO, "teacher", 1, TWO), "2")
    assert taught is not None and len(taught.steps) == 1
    assert annotation_of(steps(1, TWO), None) is None
    assert annotation_of(steps(TWO), "2") is None


def test_the_steps_of_a_one_pass_episode_make_one_pass_annotations_only():
    recorded = steps("planner", 1, 2, "grounder", TWO, TWO)
    assert annotation_of(recorded, "2") is None
    loose = one_pass_annotation_of(recorded, "2")
    assert loose is not None and [len(step.actions) for step in loose.steps] == [0, 2]


def test_a_failed_action_keeps_the_result_that_its_annotation_states():
    failed = Execution("unknown_action", "", (), "no such action")
    stated = RecordedStep(1, 0, "", failed, Action(("R1",), "Foo", "2", "R1 = Foo(2) = 7"))
    recorded = [*steps(1), stated]
    annotation = annotation_of(recorded, "")
    assert annotation is not None and annotation.steps[0].results == ("7",) and count_failed_actions(recorded) == 1
    assert planner_only(annotation).steps[0].results == ("7",)
    unstated = annotation_of([*steps(1), RecordedStep(1, 0, "", failed, SUM)], "")
    assert unstated is not None and unstated.steps[0].results == ("",)


def test_near_duplicates_are_compared_and_hardly_any_is_missed():
    random, words = Random(3), [f"w{number}" for number in range(300)]
    for threshold in (0.5, 0.8, 0.95):
        missed = tried = 0
        for _ in range(300):
            text = random.choices(words, k=120)
            other = [random.choice(words) if random.random() < 0.02 else word for word in text]
            one, two = near_duplicates.shingles(" ".join(text)), near_duplicates.shingles(" ".join(other))
            if near_duplicates.similarity(one, two) >= threshold:
                tried += 1
                missed += not set(near_duplicates.bands(one, threshold)) & set(near_duplicates.bands(two, threshold))
        assert tried > 10 and missed <= 0.02 * tried
    far = near_duplicates.shingles(" ".join(words[:100])), near_duplicates.shingles(" ".join(words[100:200]))
    assert near_duplicates.similarity(*far) == 0 and not set(near_duplicates.bands(far[0], 0.8)) & set(
        near_duplicates.bands(far[1], 0.8)
    )
    assert (
        near_duplicates.similarity(near_duplicates.shingles("Two  words"), near_duplicates.shingles("two words")) == 1
    )


def test_contamination_masks_numbers_and_names_and_finds_thirteen_words_in_a_row(tmp_path: Path):
    path = tmp_path / "test.jsonl"
    question = "Tom has 5 red apples and he gives 3 of them to his sister Ann today. How many apples does he have left?"
    other = "这个问题里没有拉丁字母"
    rows = [f'{{"question": "{text}", "answer": "1 #### 2"}}' for text in (question, other)]
    path.write_text("\n".join([*rows, '{"question": 3, "answer": ""}']), encoding="utf-8")
    splits = TestSplits([f"gsm8k:{path}"], KnownBenchmarks())
    name = "gsm8k:test.jsonl"
    varied = question.replace("Tom", "Bill").replace("Ann", "Emily").replace("5", "81")
    assert splits.find(question) == (name, "equal text") == splits.find(varied)
    assert splits.find("It rained. " + varied) == (name, "13 words")
    assert splits.find("Tom has 5 red apples. How many apples does he have left?") is None
    assert splits.find(other) == (name, "equal text") and splits.find("别的问题") is None
    report = splits.report(["made-up"], ["maths"])
    assert report[name] == {"rows": 2, "unreadable": 1}
    assert report["wordmath"] == report["svamp"] == report["made-up"] == "not checked" and "gsm8k" not in report
    assert task_key(question) == task_key(varied) != task_key(other)
    with pytest.raises(SpecError, match="gsm8k"):
        TestSplits(["gsm8k"], KnownBenchmarks())
    with pytest.raises(SpecError, match="No benchmark called 'nosuch'"):
        TestSplits(["nosuch:x"], KnownBenchmarks())
    with pytest.raises(SpecError, match=r"no file '.*/none\.json'"):
        TestSplits([f"svamp:{tmp_path / 'none.json'}"], KnownBenchmarks())


def test_only_test_splits_of_the_rows_own_domains_are_missed():
    splits = TestSplits([], KnownBenchmarks())
    assert splits.report(["strategyqa"], ["complex_qa"]) == dict.fromkeys(
        ("hotpotqa", "musique", "strategyqa"), "not checked"
    )
    assert {"asdiv", "gsm8k", "mawps", "prm800k", "svamp", "wordmath"} == set(splits.report([], ["maths"]))
    assert splits.report(["made-up"], []) == {"made-up": "not checked"}


def test_test_splits_have_a_digest_that_the_order_of_rows_does_not_change(tmp_path: Path):
    rows = [f'{{"question": "How many {word}?", "answer": "#### 2"}}' for word in ("apples", "pears")]
    digests = set()
    for name, lines in (("one", rows), ("other", rows[::-1])):
        (tmp_path / name).write_text("\n".join(lines))
        digests.add(TestSplits([f"gsm8k:{tmp_path / name}"], KnownBenchmarks()).splits[0].digest)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"format": "csv"}, "csv.*trl-sft"),
        ({"select": "worst"}, "worst.*shortest"),
        ({"level": "proven"}, "proven.*executed"),
        ({"formulations": ("iterative", "magic")}, "magic.*one-pass"),
        ({"formulations": ()}, "at least one"),
        ({"per_task": 2}, "need each other"),
        ({"select": "best"}, "need each other"),
        ({"dev_share": 1}, "leaves no row to train on"),
        ({"format": "trl-preference", "near": 0.5}, "leave out"),
        ({"format": "trl-preference", "formulations": ("one-pass",)}, "iterative"),
    ],
)
def test_options_that_will_not_do_are_named(wrong, named):
    with pytest.raises(SpecError, match=named):
        BuildOptions(**wrong)


def test_a_mix_is_made_of_shares():
    assert read_mix("gsm8k=3, svamp=1") == {"gsm8k": 0.75, "svamp": 0.25} and read_mix("") == {}
    for wrong in ("gsm8k", "gsm8k=", "gsm8k=-1", "gsm8k=nan", "=1", "a=1,a=2", "a=inf"):
        with pytest.raises(SpecError, match="mix"):
            read_mix(wrong)


def test_licences_say_what_they_forbid():
    assert is_non_commercial("CC BY-NC 4.0") and is_non_commercial("CC-BY-NC-SA-4.0")
    assert not is_non_commercial("MIT") and not is_non_commercial("NCSA")
    assert warning({"MIT": {"gsm8k": 5}}) == ""
    told = warning({"MIT": {"gsm8k": 5}, "CC BY-NC 4.0": {"asdiv": 2}, "unknown": {"x": 1}})
    assert told.startswith("2 of 8 rows are licensed for non-commercial use only: asdiv (CC BY-NC 4.0).")
    assert told.endswith("The licence of 1 of 8 rows is unknown.")


def test_of_two_licences_the_stricter_is_known():
    assert [strictness(name) for name in ("CC BY-NC 4.0", "", "unknown", "MIT")] == [2, 1, 1, 0]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path):
    target = tmp_path / "builds" / "one"
    with pytest.raises(ZeroDivisionError), open_staging_folder(target) as scratch:
        (scratch / "rows.jsonl").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with open_staging_folder(target) as scratch:
        (scratch / "build").mkdir()
        (scratch / "build" / MANIFEST).write_text("{}")
        publish(scratch / "build", target)
    assert [path.name for path in target.parent.iterdir()] == ["one"]


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path):
    assert load_existing_build(tmp_path / "new", {}) is None and load_existing_build(tmp_path, {}) is None
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SpecError, match="not empty"):
        load_existing_build(tmp_path, {})
    with pytest.raises(SpecError, match="is a file"):
        load_existing_build(tmp_path / "mine.txt", {})
    (tmp_path / MANIFEST).write_text("[")
    with pytest.raises(SpecError, match="cannot be read"):
        load_existing_build(tmp_path, {})
    for name in ("", ".hidden", "a/b", "../up", "x" * 101):
        with pytest.raises(SpecError, match="not a name for a build"):
            folder_of(Settings(home=tmp_path), name)


def test_a_pair_is_the_first_reply_that_no_successful_try_gave_to_the_same_prompt():
    good = Try(1, True, (("planner", "p1", "s1"), ("grounder", "g1", "a1"), ("planner", "p2", "stop")))
    also = Try(2, True, (("planner", "p1", "s1 too"), ("grounder", "g2", "a2")))
    bad = Try(3, False, (("planner", "p1", "s1"), ("grounder", "g1", "wrong"), ("planner", "p9", "stop")))
    worse = Try(4, False, (("planner", "p1", "nonsense"), ("grounder", "g1", "wrong")))
    found = list(pairs([good, also, bad, worse]))
    assert found == [
        ("grounder", {"prompt": "g1", "chosen": "a1", "rejected": "wrong"}, 1, 3),
        ("planner", {"prompt": "p1", "chosen": "s1", "rejected": "nonsense"}, 1, 4),
    ]
    assert list(pairs([good, Try(5, False, (("planner", "p1", "s1 too"),)), also])) == []
