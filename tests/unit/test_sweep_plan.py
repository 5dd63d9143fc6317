"""Sweeps as files: every combination is an arm, and a wrong file is told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.submission.job_request import read_texts
from lumos_queue.sweeps.carry_out import check_requests, evaluation_request
from lumos_queue.sweeps.plan import label_of, read_plan

GOOD = """
title = "t"
seeds = [0, 1]
formulations = ["integrated", "iterative"]
modules = ["joint", "separate"]
[annotations.gold]
convert = "wordmath"
[[benchmarks]]
name = "wordmath"
limit = 5
"""
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "sweeps").glob("*.toml"))


def read(folder: Path, text: str):
    file = folder / "sweep.toml"
    file.write_text(text)
    return read_plan(file)


def test_every_combination_is_an_arm_named_by_what_varies(tmp_path):
    plan = read(tmp_path, GOOD)
    assert [plan.label(arm) for arm in plan.arms()] == [
        "integrated, joint",
        "integrated, separate",
        "iterative, joint",
        "iterative, separate",
    ]
    assert [label_of(benchmark) for benchmark in plan.benchmarks] == ["wordmath test, first 5"]
    alone = read(tmp_path, GOOD.replace('["integrated", "iterative"]', '["cot"]').replace(', "separate"', ""))
    assert [alone.label(arm) for arm in alone.arms()] == ["cot"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_can_be_read(path):
    assert read_plan(path).seeds


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('title = "t"', "title ="), "Invalid value"),
        (('title = "t"', ""), "title: Field required"),
        (("seeds = [0, 1]", "seeds = []"), "seeds: List should have at least 1 item"),
        (("seeds = [0, 1]", "seeds = [-1]"), "seeds.0: Input should be greater than or equal to 0"),
        (('modules = ["joint", "separate"]', 'modules = ["both"]'), "modules.0: Input should be 'joint' or 'separate'"),
        (('convert = "wordmath"', ""), "annotations.gold: Value error, give either convert = SOURCE or evaluate"),
        (('convert = "wordmath"', 'convert = "a"\nevaluate = "b"'), "annotations.gold: Value error, give either"),
        (("[annotations.gold]", '[annotations."../x"]'), "annotations.../x"),
        (("limit = 5", "limits = 5"), "No option called 'limits'. Did you mean 'limit'?"),
        (("seeds = [0, 1]", 'seeds = [0, 1]\norder = ["direct"]'), "order has 'direct', expected some of: integrated"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(tmp_path, change, problem):
    assert change[0] in GOOD
    with pytest.raises(SpecError) as told:
        read(tmp_path, GOOD.replace(*change))
    assert problem in str(told.value) and "\n" not in str(told.value) and "is not a sweep" in str(told.value)


def test_no_file_and_no_text(tmp_path):
    with pytest.raises(SpecError, match=r"cannot be read: No such file"):
        read_plan(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="is not a sweep"):
        read_plan(tmp_path / "bytes.toml")


def test_what_is_sent_can_be_chosen_for_a_benchmark(tmp_path):
    """The options of the evaluation: stop strings, system message, and a template below the folder of data."""
    (tmp_path / "template.txt").write_text("Solve {question}\n")
    text = GOOD.replace('["integrated", "iterative"]', '["direct"]').replace('["joint", "separate"]', '["joint"]')
    plan = read(
        tmp_path, text + 'stop = ["\\n", "Q:"]\nsystem = "Be brief."\nprompt = "template.txt"\nmax_tokens = 9\n'
    )
    (benchmark,) = plan.benchmarks
    request = read_texts(evaluation_request(benchmark, "direct", tmp_path, {"solver": "local:/m"}))
    assert (request.stop, request.system, request.prompt) == (("\n", "Q:"), "Be brief.", "Solve {question}")
    assert (request.max_tokens, request.solver) == (9, "local:/m")
    (plain,) = read(tmp_path, GOOD).benchmarks
    request = evaluation_request(plain, "iterative", tmp_path, {})
    assert (request.stop, request.system, request.prompt, request.max_tokens) == (None, None, None, 128)
    check_requests(plan, tmp_path)
    with pytest.raises(SpecError, match="'integrated' has no --system"):
        check_requests(read(tmp_path, GOOD + 'system = "Be brief."\n'), tmp_path)
    with pytest.raises(SpecError, match="cannot be read: No such file"):
        check_requests(read(tmp_path, text + 'prompt = "none.txt"\n'), tmp_path)
