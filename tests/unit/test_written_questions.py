"""The question of a task is the text of its row: white space stays, and prompts leave out only that at its ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.hotpotqa.rationale import annotate
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.builds.contamination import normalise, task_key, text_key
from lumos_queue.conversion.duplicates import find_duplicates
from lumos_queue.prompts.dialogue import Dialogue, question_prompt
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Task
from lumos_queue.scoring import judge
from lumos_queue.submission.file_options import FileOptions
from lumos_queue.submission.file_request import define_file
from tests import original_files
from tests.benchmark_files import write_json
from tests.source_rows import HOTPOT

#: White space of every kind: several spaces, a tab, a no-break space, line breaks, and at both ends.
WRITTEN = " Is  the\tsea\u00a0\u00a0wet,\r\nor  dry? "
INSIDE = WRITTEN.strip()
#: Benchmark to the field of its question, and the options of `read`.
FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    "gsm8k": ("question", {}),
    "strategyqa": ("question", {}),
    "hotpotqa": ("question", {}),
    "musique": ("question", {}),
    "mind2web": ("confirmed_task", {}),
    "intercode_sql": ("query", {}),
    "spider": ("question", {}),
}


def read_one(name: str, path: Path, split: str = "test", **options: str) -> Task:
    (task,) = BENCHMARKS.load(name).read(path, split, **options)
    assert isinstance(task, Task), task
    return task


@pytest.mark.parametrize("name", FIELDS)
def test_white_space_of_a_question_stays(name, tmp_path):
    field, options = FIELDS[name]
    row = getattr(original_files, f"_{name.removesuffix('_sql')}")(0)
    path = write_json(tmp_path, [row | {field: WRITTEN}])
    write_json(tmp_path, original_files._tables(), "tables.json")
    assert read_one(name, path, **options).question == WRITTEN
    unstorable = write_json(tmp_path, [row | {field: "Is\0 it  so?"}])
    assert read_one(name, unstorable, **options).question == "Is\ufffd it  so?"


def test_white_space_of_questions_in_other_forms_stays(tmp_path):
    example = {"input": WRITTEN, "target_scores": {"Yes": 1, "No": 0}, "target": "Yes. It is."}
    assert read_one("strategyqa", write_json(tmp_path, {"examples": [example]}), "paper").question == WRITTEN
    goal = {
        "asin": "B01",
        "name": "A hat",
        "instruction_text": WRITTEN,
        "attributes": ["red"],
        "price_upper": 9,
    }
    assert read_one("webshop", write_json(tmp_path, [goal])).question == WRITTEN


@pytest.mark.parametrize(("kind", "scorer"), [("evaluate", "exact"), ("infer", "")])
def test_a_question_of_an_own_file_loses_only_white_space_at_its_ends(kind, scorer, tmp_path):
    path = write_json(tmp_path, [{"question": WRITTEN, "answer": "wet"}])
    definition = define_file(path, FileOptions(scorer=scorer), {}, lambda _: None, kind=kind)
    (task,) = FileBenchmark(definition).read(path, "own")
    assert isinstance(task, Task) and task.question == INSIDE


@pytest.mark.parametrize(
    ("name", "row", "begin"),
    [
        ("aokvqa", {"question": WRITTEN}, f"{INSIDE} There're some choices: A. cat"),
        ("scienceqa", {"question": WRITTEN, "pid": "1"}, f"{INSIDE} Birds have feathers"),
        ("superni", {"definition": WRITTEN, "inputs": "A  dog", "targets": ["x"]}, f"{INSIDE}\n\nA  dog\n\n"),
    ],
)
def test_texts_of_several_fields_keep_the_white_space_within_each(name, row, begin, tmp_path):
    rows: dict[str, Callable[[int], dict[str, Any]]] = {
        "aokvqa": original_files._aokvqa,
        "scienceqa": original_files._scienceqa,
    }
    row = (rows[name](0) if name in rows else {}) | row
    options = {"scienceqa": {"subset": "all"}}.get(name, {})
    assert read_one(name, write_json(tmp_path, [row]), **options).question.startswith(begin)


def test_choices_of_an_own_file_follow_the_question_after_one_space(tmp_path):
    path = write_json(tmp_path, [{"question": WRITTEN, "choices": ["wet", "dry"], "answer": "wet"}])
    (task,) = FileBenchmark(define_file(path, FileOptions(scorer="choice"), {}, lambda _: None)).read(path, "own")
    assert isinstance(task, Task) and task.question == f"{INSIDE} There're some choices: A. wet, B. dry."


def test_prompts_leave_out_white_space_at_the_ends_alone():
    task = Task("hotpotqa", "", "1", WRITTEN)
    assert f"Task: {INSIDE};" in Dialogue(task, "complex_qa").to_planner()
    assert question_prompt(task) == f"<|user|>\n{INSIDE}\n<|assistant|>\n"


def test_the_judge_is_sent_the_spaces_of_a_question_on_one_line():
    assert "\nQuestion: Is  the\tsea\u00a0\u00a0wet, or  dry?\nModel prediction: a b\n" in judge.prompt(
        WRITTEN, "a\nb", "wet"
    )


def test_equal_questions_are_equal_whatever_their_white_space():
    """Names are recognised after a comma or a word, also after several spaces or at the begin of a line."""
    for written in ("Did  Zorvan,  Quib and\tTom meet\u00a0Anna?", " Did Zorvan, Quib and\nTom meet Anna? "):
        single = "Did Zorvan, Quib and Tom meet Anna?"
        assert normalise(written) == normalise(single)
        assert (task_key(written), text_key(written)) == (task_key(single), text_key(single))
        assert find_duplicates([Task("b", "", "1", single), Task("b", "", "2", written)]) == (1,)


def test_the_rule_that_converts_hotpotqa_reads_single_spaces(tmp_path):
    question = HOTPOT["question"]
    spaced = "  ".join(question.split(" "))
    first, second = BENCHMARKS.load("hotpotqa").teaching.read(
        write_json(tmp_path, [HOTPOT, HOTPOT | {"_id": "h2", "question": spaced}]), "train"
    )
    assert isinstance(first, Task) and isinstance(second, Task) and second.question == spaced
    assert annotate(first) == annotate(second)


def test_questions_of_published_files_are_as_written(shared_data):
    """Of 800 HotpotQA questions 26 have several spaces in a row, of 1,861 and 300 of StrategyQA 7 and 1."""
    counts = {}
    for file, name, split, field in (
        ("hotpotqa/hotpot_dev_v1_simplified.json", "hotpotqa", "dev", "question"),
        ("hotpotqa/hotpot_dev_distractor_sample.json", "hotpotqa", "dev", "question"),
        ("strategyqa/train.json", "strategyqa", "train", "question"),
        ("strategyqa/bigbench_task.json", "strategyqa", "paper", "input"),
        ("spider/dev.json", "spider", "dev", "question"),
        ("intercode_sql/ic_spider_dev.json", "intercode_sql", "dev", "query"),
        ("mind2web/reassembled_native.json", "mind2web", "train", "confirmed_task"),
    ):
        path = next(iter([*shared_data.rglob(Path(file).name)]))
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = content["examples"] if isinstance(content, dict) else content
        tasks = [task for task in BENCHMARKS.load(name).read(path, split) if isinstance(task, Task)]
        assert [task.question for task in tasks] == [row[field] for row in rows], file
        counts[file] = sum(task.question.strip() != " ".join(task.question.split()) for task in tasks)
    assert list(counts.values()) == [26, 7, 7, 1, 3, 3, 3]


def test_conversions_of_published_files_do_not_depend_on_white_space(shared_data):
    """Questions with several spaces in a row are converted as those with single spaces were."""
    path = shared_data / "hotpotqa" / "hotpot_dev_distractor_sample.json"
    benchmark = BENCHMARKS.load("hotpotqa")
    for task in benchmark.teaching.read(path, "dev"):
        assert isinstance(task, Task)
        plain = Task(task.benchmark, "", task.row, " ".join(task.question.split()), task.inputs, task.gold)
        outcomes = []
        for version in (task, plain):
            try:
                outcomes.append(annotate(version))
            except NotConvertible as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
