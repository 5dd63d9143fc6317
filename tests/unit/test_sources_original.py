"""Sources on the original files: what is read, what has a rationale, what rules convert, and why the rest is not."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from lumos_queue.conversion.form import ACTIONS
from lumos_queue.conversion.reasons import NotConvertible
from lumos_queue.conversion.sources.registry import open_source
from lumos_queue.conversion.stated import results_stated
from lumos_queue.notation import read_annotation, variables_in, write_annotation
from lumos_queue.records import Task

#: source, file, rows, without a rationale, not converted by rule
FILES = [
    ("strategyqa", "strategyqa/train.json", 1861, {"no_evidence": 256}, {"no_evidence": 256, "no_step_answer": 1025}),
    ("musique", "musique/musique_ans_dev_sample.jsonl", 120, {}, {}),
    ("musique", "musique/musique_full_sample.jsonl", 12, {"unanswerable": 7}, {"unanswerable": 7}),
    ("hotpotqa", "hotpotqa/hotpot_dev_distractor_sample.json", 118, {}, {}),
    ("hotpotqa", "hotpotqa/hotpot_dev_distractor_hf_columns.json", 60, {}, {}),
    ("hotpotqa", "hotpotqa/hotpot_dev_v1_simplified.json", 800, {"no_support": 800}, {"no_support": 800}),
    ("mind2web", "mind2web/tasks_action_reprs.json", 4, {}, {}),
    ("mind2web", "mind2web/reassembled_native.json", 87, {"incomplete": 85}, {"incomplete": 85}),
    ("spider", "spider/dev.json", 701, {}, {}),
    ("prm800k", "prm800k/samples.jsonl", 4, {"no_rationale": 3}, {"no_rule": 4}),
    ("aokvqa", "aokvqa/aokvqa_v1p0_val.json", 845, {}, {"no_rule": 845}),
    ("aokvqa", "aokvqa/aokvqa_v1p0_test.json", 150, {"no_rationale": 150}, {"no_rule": 150}),
]
#: source, file, rows, at least converted by rule
MATHS = [
    ("gsm8k", "gsm8k/train.jsonl", 7473, 7001),
    ("gsm8k", "gsm8k/test.jsonl", 1019, 935),
    ("gsm8k", "gsm8k/test_socratic.jsonl", 1019, 935),
    ("svamp", "svamp/SVAMP.json", 700, 699),
    ("svamp", "svamp/mawps-asdiv-a_svamp/dev.csv", 667, 666),
    ("mawps", "mawps/cv_mawps/fold0/train.csv", 1314, 1287),
    ("asdiv", "asdiv/ASDiv.xml", 1775, 1200),
    ("asdiv", "asdiv/cv_asdiv-a_fold0.csv", 944, 933),
]


def failures(tasks, method):
    done, reasons = [], Counter()
    for task in tasks:
        try:
            done.append((task, method(task)))
        except NotConvertible as error:
            reasons[error.reason] += 1
    return done, dict(reasons)


@pytest.mark.parametrize(("name", "file", "rows", "planless", "unconverted"), FILES, ids=[row[1] for row in FILES])
def test_original_files(shared_data, name, file, rows, planless, unconverted):
    source = open_source(name)
    tasks = list(source.read(shared_data / file, source.splits[-1]))
    assert [task for task in tasks if not isinstance(task, Task)] == []
    assert len(tasks) == rows and {task.benchmark for task in tasks} == {name}
    plans, reasons = failures(tasks, source.plan)
    assert reasons == planless and all(plan.strip() for _, plan in plans)
    converted, reasons = failures(tasks, source.gold)
    assert reasons == unconverted
    with_results = source.level != "format" or name == "spider"
    for task, annotation in converted:
        json.dumps([task.inputs, task.gold], allow_nan=False)
        assert source.right(task, source.answer(task)) and not source.right(task, None)
        steps, issues = read_annotation(write_annotation(annotation.steps), with_results)
        assert issues == () and [step.subgoal for step in steps] == [step.subgoal for step in annotation.steps]
        known = set()
        for step in annotation.steps:
            assert results_stated(step, task.question) == []
            for action in step.actions:
                assert action.name in ACTIONS.get(source.domain, ("",))
                assert set(variables_in(action.arguments)) <= known
                known.update(action.variables)
        if source.level == "oracle_tool":
            assert source.right(task, annotation.steps[-1].results[-1])


@pytest.mark.parametrize(("name", "file", "rows", "least"), MATHS, ids=[row[1] for row in MATHS])
def test_maths_sources_are_their_benchmarks(shared_data, name, file, rows, least):
    source = open_source(name)
    tasks = list(source.read(shared_data / file, source.splits[-1]))
    assert len(tasks) == rows
    plans, _ = failures(tasks, source.plan)
    assert len(plans) == rows
    assert any("<<" in plan for _, plan in plans) == ("socratic" in file)
    converted, _ = failures(tasks, source.gold)
    assert len(converted) >= least
    for task, annotation in converted:
        assert source.right(task, annotation.steps[-1].results[-1])
        for step in annotation.steps:
            assert variables_in(step.subgoal.text) == () and results_stated(step, task.question) == []
    known = [task for task, _ in converted if source.reference(task) is not None]
    assert len(known) > 0.9 * len(converted)  # the others have too many readings


def test_musique_keeps_paragraph_0(shared_data):
    source = open_source("musique")
    tasks = list(source.read(shared_data / "musique/musique_ans_dev_sample.jsonl", "dev"))
    at_0 = [task for task in tasks if any(hop["idx"] == 0 for hop in task.gold["hops"])]
    assert len(at_0) == 14
    for task in at_0:
        assert "-0)" in write_annotation(source.gold(task).steps)


def test_spider_parts_make_the_whole_again(shared_data):
    source = open_source("spider")
    for task in source.read(shared_data / "spider/dev.json", "dev"):
        _, *parts, whole = [step.actions[0].arguments for step in source.gold(task).steps]
        assert " ".join(["select", *parts]).casefold() == whole.casefold()
        assert "".join(whole.split()) == "".join(task.gold["answer"].split()).rstrip(";")


def test_travelplanner_is_a_source_in_one_file(shared_data):
    source = open_source("examples.travelplanner")
    tasks = list(source.read(shared_data / "travelplanner/std_travelplanner.jsonl", "train"))
    assert [type(task) for task in tasks] == [Task] * 6
    for task in tasks:
        assert "Accommodations in" in source.plan(task) and source.answer(task) in source.plan(task)
        annotation = source.gold(task)
        _, issues = read_annotation(write_annotation(annotation.steps))
        assert issues == ()
        assert len(annotation.steps) == len(task.gold["days"]) + 2
        assert source.right(task, annotation.steps[-1].results[-1])
