"""Sources on the original files: what is read, what has a rationale, what rules convert, and why the rest is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache

import pytest

from lumos_queue.benchmarks.registry import open_source
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import (
    read_annotation,
    replace_variables,
    strip_label,
    variables_in,
    write_annotation,
)
from lumos_queue.rationales.maths.stated_results import results_stated
from lumos_queue.rationales.questions.word_matches import content, has_form, words
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Task
from lumos_queue.util.plugins import TRUSTED

#: source, file, rows, without a rationale, not converted by rule
FILES = [
    (
        "strategyqa",
        "strategyqa/train.json",
        1861,
        {"no_evidence": 256},
        {"no_evidence": 256, "no_step_answer": 72, "unclear_fact": 1432},
    ),
    ("musique", "musique/musique_ans_dev_sample.jsonl", 120, {}, {"unnamed_step": 7}),
    ("musique", "musique/musique_full_sample.jsonl", 12, {"unanswerable": 7}, {"unanswerable": 7}),
    ("hotpotqa", "hotpotqa/hotpot_dev_distractor_sample.json", 118, {}, {"unnamed_step": 93}),
    ("hotpotqa", "hotpotqa/hotpot_dev_distractor_hf_columns.json", 60, {}, {"unnamed_step": 45}),
    ("hotpotqa", "hotpotqa/hotpot_dev_v1_simplified.json", 800, {"no_support": 800}, {"no_support": 800}),
    ("mind2web", "mind2web/tasks_action_reprs.json", 4, {}, {}),
    ("mind2web", "mind2web/reassembled_native.json", 87, {"incomplete": 85}, {"incomplete": 85}),
    ("spider", "spider/dev.json", 701, {}, {}),
    ("prm800k", "prm800k/samples.jsonl", 4, {"no_rationale": 3}, {"no_rule": 4}),
    ("aokvqa", "aokvqa/aokvqa_v1p0_val.json", 845, {}, {"no_rule": 845}),
    ("aokvqa", "aokvqa/aokvqa_v1p0_test.json", 150, {"no_rationale": 150}, {"no_rule": 150}),
]
#: Questions over pages, whose steps are named by rule.
QA = [(name, file) for name, file, *_ in FILES if name in ("strategyqa", "musique", "hotpotqa")]
#: source, file, rows, at least converted by rule
MATHS = [
    pytest.param("gsm8k", "gsm8k/train.jsonl", 7473, 7113, marks=pytest.mark.long, id="gsm8k/train.jsonl"),
    pytest.param("gsm8k", "gsm8k/test.jsonl", 1019, 963, marks=pytest.mark.long),  # test_gold_programs.py has it
    pytest.param("gsm8k", "gsm8k/test_socratic.jsonl", 1019, 963, marks=pytest.mark.long),
    ("svamp", "svamp/SVAMP.json", 700, 699),
    ("svamp", "svamp/mawps-asdiv-a_svamp/dev.csv", 667, 666),
    ("mawps", "mawps/cv_mawps/fold0/train.csv", 1314, 1302),
    ("asdiv", "asdiv/ASDiv.xml", 1775, 1200),
    ("asdiv", "asdiv/cv_asdiv-a_fold0.csv", 944, 943),
]

_FRAME = re.compile(r"Answer the question(?: from .*? and the result of Subgoal 2)?:|the result of Subgoal \d+", re.I)


def failures(tasks, method):
    done, reasons = [], Counter()
    for task in tasks:
        try:
            done.append((task, method(task)))
        except NotConvertible as error:
            reasons[error.reason] += 1
    return done, dict(reasons)


@pytest.fixture(scope="module")
def rows_of(shared_data):
    """A source's file to its tasks, those that rules convert with their annotations, and why the others are not."""

    @cache
    def read(name, file):
        source = open_source(name)
        tasks = list(source.teaching.read(shared_data / file, source.teaching.splits[-1]))
        return tasks, *failures(tasks, source.gold)

    return read


@pytest.mark.parametrize(("name", "file", "rows", "planless", "unconverted"), FILES, ids=[row[1] for row in FILES])
def test_original_files(rows_of, name, file, rows, planless, unconverted):
    source = open_source(name)
    tasks, converted, not_converted = rows_of(name, file)
    assert [task for task in tasks if not isinstance(task, Task)] == []
    assert len(tasks) == rows and {task.benchmark for task in tasks} == {name}
    plans, reasons = failures(tasks, source.rationale)
    assert reasons == planless and all(plan.strip() for _, plan in plans)
    assert not_converted == unconverted
    with_results = source.check_level != "format" or name == "spider"
    for task, annotation in converted:
        json.dumps([task.inputs, task.gold], allow_nan=False)
        assert source.is_right(task, source.gold_answer(task)) and not source.is_right(task, None)
        steps, issues = read_annotation(write_annotation(annotation.steps), with_results)
        assert issues == () and [step.subgoal for step in steps] == [step.subgoal for step in annotation.steps]
        known = set()
        for step in annotation.steps:
            assert results_stated(step, task.question) == []
            for action in step.actions:
                assert action.name in (DOMAINS.load(source.domain).action_names or ("",))
                assert set(variables_in(action.arguments)) <= known
                known.update(action.variables)
        if source.check_level == "oracle_tool":
            assert source.is_right(task, annotation.steps[-1].results[-1])


@pytest.mark.parametrize(("name", "file", "rows", "least"), MATHS)
def test_maths_sources_are_their_benchmarks(shared_data, name, file, rows, least):
    source = open_source(name)
    tasks = list(source.teaching.read(shared_data / file, source.teaching.splits[-1]))
    assert len(tasks) == rows
    plans, _ = failures(tasks, source.rationale)
    assert len(plans) == rows
    assert any("<<" in plan for _, plan in plans) == ("socratic" in file)
    converted, _ = failures(tasks, source.gold)
    assert len(converted) >= least
    for task, annotation in converted:
        assert source.is_right(task, annotation.steps[-1].results[-1])
        for step in annotation.steps:
            assert variables_in(step.subgoal.text) == () and results_stated(step, task.question) == []
    known = [task for task, _ in converted if source.reference(task) is not None]
    assert len(known) > 0.9 * len(converted)  # the others have too many readings


def asked_of(task):
    """What a row asks: its question, and the questions of its own steps."""
    hops = [hop["question"] for hop in task.gold.get("hops", ())]
    return " ".join([task.question, *hops, *task.gold.get("questions", ())])


@pytest.mark.parametrize(("name", "file"), QA, ids=[file for _, file in QA])
def test_no_query_names_a_page_that_only_the_answer_names(rows_of, name, file):
    """A grounder sees the question and variables: a page's title that neither says is the answer, or leads to it."""
    for task, annotation in rows_of(name, file)[1]:
        known = words(asked_of(task))
        for step in annotation.steps:
            for action in step.actions:
                if action.name == "KnowledgeQuery":
                    query = replace_variables(action.arguments, lambda _: "it")
                    assert set(content(query)) <= {*known, *words(step.subgoal.text)}, (task.question, action.raw)


@pytest.mark.parametrize(("name", "file"), QA, ids=[file for _, file in QA])
def test_every_subgoal_says_what_it_seeks_in_words_of_the_row(rows_of, name, file):
    subgoals, generic = 0, []
    for task, annotation in rows_of(name, file)[1]:
        known = content(asked_of(task))
        for step in annotation.steps:
            said = _FRAME.sub(" ", strip_label(step.subgoal.text))
            subgoals += 1
            if not any(has_form(word, known) for word in content(said)):
                generic.append(step.subgoal.text)
    assert len(generic) <= subgoals / 100, generic  # a decomposition may end `Is #2 not in #1?`


def test_musique_keeps_paragraph_0(shared_data):
    source = open_source("musique")
    tasks = list(source.teaching.read(shared_data / "musique/musique_ans_dev_sample.jsonl", "dev"))
    at_0 = [task for task in tasks if any(hop["idx"] == 0 for hop in task.gold["hops"])]
    assert len(at_0) == 14
    converted, reasons = failures(at_0, source.gold)
    assert sum(reasons.values()) <= 2
    for _, annotation in converted:
        assert "-0)" in write_annotation(annotation.steps)


def test_spider_parts_make_the_whole_again(shared_data):
    source = open_source("spider")
    for task in source.teaching.read(shared_data / "spider/dev.json", "dev"):
        _, *parts, whole = [step.actions[0].arguments for step in source.gold(task).steps]
        assert " ".join(["select", *parts]).casefold() == whole.casefold()
        assert "".join(whole.split()) == "".join(task.gold["answer"].split()).rstrip(";")


def test_travelplanner_is_a_source_in_one_file(shared_data):
    TRUSTED.add_named("examples.travelplanner:benchmark")
    source = open_source("examples.travelplanner:benchmark")
    tasks = list(source.teaching.read(shared_data / "travelplanner/std_travelplanner.jsonl", "train"))
    assert [type(task) for task in tasks] == [Task] * 6
    for task in tasks:
        assert "Accommodations in" in source.rationale(task) and source.gold_answer(task) in source.rationale(task)
        annotation = source.gold(task)
        _, issues = read_annotation(write_annotation(annotation.steps))
        assert issues == ()
        assert len(annotation.steps) == len(task.gold["days"]) + 2
        assert source.is_right(task, annotation.steps[-1].results[-1])


def _raw_strategyqa(row):
    return [*row["facts"], *row["decomposition"]]


def _raw_musique(row):
    texts = {one["idx"]: one["paragraph_text"] for one in row["paragraphs"]}
    return [texts[hop["paragraph_support_idx"]] for hop in row["question_decomposition"]]


@pytest.mark.parametrize(
    ("name", "file", "raw", "odd"),
    [
        ("aokvqa", "aokvqa/aokvqa_v1p0_val.json", lambda row: row["rationales"], 48),
        ("strategyqa", "strategyqa/train.json", _raw_strategyqa, 327),
        ("musique", "musique/musique_ans_dev_sample.jsonl", _raw_musique, 2),
        ("mind2web", "mind2web/tasks_action_reprs.json", lambda row: row["action_reprs"], 4),
    ],
)
def test_plans_hold_the_texts_of_their_rows_byte_for_byte(shared_data, name, file, raw, odd):
    """`odd`: rows with a plan in which some text is no single line with single spaces."""
    path, source = shared_data / file, open_source(name)
    records = json.loads(path.read_text()) if path.suffix == ".json" else map(json.loads, path.open())
    found = 0
    for task, record in zip(source.teaching.read(path, "train"), records, strict=True):
        assert isinstance(task, Task)
        try:
            plan = source.rationale(task)
        except NotConvertible:
            continue
        assert all(text in plan for text in raw(record)), task.row
        found += any(" ".join(text.split()) != text for text in raw(record))
    assert found == odd
