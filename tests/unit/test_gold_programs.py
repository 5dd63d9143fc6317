"""Gold programs of the original rows, run by the maths actions: each that is converted gives the gold answer."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.gsm8k.rationale import convert
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import strip_label
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.scoring.numerals import numbers_in

SOURCES = {
    "gsm8k/train.jsonl": (7473, {"no_mark": 67, "mark_not_last": 9, "value_differs": 131, "copied": 153}),
    "gsm8k/test.jsonl": (1019, {"no_mark": 7, "value_differs": 26, "copied": 23}),
    "gsm8k/test_socratic.jsonl": (1019, {"no_mark": 7, "value_differs": 26, "copied": 23}),
    "svamp/SVAMP.json": (700, {"value_differs": 1}),
    "svamp/mawps-asdiv-a_svamp/dev.csv": (667, {}),
    "mawps/cv_mawps/fold0/train.csv": (1314, {"rounded": 7, "value_differs": 5}),
    "asdiv/ASDiv.xml": (
        1775,
        {"answer_is_text": 168, "remainder": 140, "unreadable_expression": 250, "rounded": 3, "value_differs": 2},
    ),
    "asdiv/cv_asdiv-a_fold0.csv": (944, {"rounded": 1}),
}
#: 7,473 rows take a minute; the others have the questions of `test.jsonl`.
LONG = ("gsm8k/train.jsonl", "gsm8k/test_socratic.jsonl")
FILES = [pytest.param(file, marks=pytest.mark.long) if file in LONG else file for file in SOURCES]


@pytest.fixture(scope="module")
def programs(shared_data):
    """File name to its benchmark, its tasks with their gold programs, and (row, reason) of those without; made once."""
    known = {}

    def make(file):
        if file not in known:
            benchmark = open_benchmark(file.split("/")[0])
            with_program, without = [], []
            for task in benchmark.read(shared_data / file, "train"):
                try:
                    with_program.append((task, benchmark.gold(task)))
                except NotConvertible as error:
                    without.append((task.row, error.reason))
            known[file] = benchmark, with_program, without
        return known[file]

    return make


async def results(actions, annotation):
    """The result of each action, as the maths actions give it."""
    variables, shown = {}, []
    for action in (action for step in annotation.steps for action in step.actions):
        execution = await actions.execute(action, variables)
        variables.update(zip(action.variables, execution.values, strict=False))
        shown.append(execution.result)
    return shown


@pytest.mark.parametrize("file", FILES)
def test_every_converted_row_executes_to_its_gold_answer(programs, file):
    benchmark, with_program, without = programs(file)
    count, reasons = SOURCES[file]
    assert Counter(reason for _, reason in without) == reasons
    assert len(with_program) == count - len(without)

    async def wrong():
        actions = DOMAINS.load(benchmark.domain).open_actions()
        try:
            for task, annotation in with_program:
                shown = await results(actions, annotation)
                stated = [result for step in annotation.steps for result in step.results]
                if shown != stated or benchmark.score(task, EpisodeResult(shown[-1]))[0].value != 1:
                    yield task.row, stated, shown
        finally:
            await actions.close()

    async def collected():
        return [row async for row in wrong()]

    assert asyncio.run(collected()) == []


def test_the_reasons_are_listed_row_by_row(shared_data):
    benchmark = open_benchmark("svamp")
    tasks = benchmark.read(shared_data / "svamp" / "SVAMP.json", "test")
    reasons = []
    for task in tasks:
        try:
            benchmark.gold(task)
        except NotConvertible as error:
            reasons.append((task.row, error.reason))
    assert reasons == [("chal-680", "value_differs")]


@pytest.mark.parametrize("file", FILES)
def test_no_subgoal_states_a_result(programs, file):
    for task, annotation in programs(file)[1]:
        known = set(numbers_in(task.question, words=True))
        for step in annotation.steps:
            known.update(*(numbers_in(action.arguments) for action in step.actions if " " in action.arguments))
            # In "how many dozen", "dozen" is a unit.
            text = re.sub(r"Subgoal \d+|result \d+ of|(?<=many )dozen", "", step.subgoal.text)
            assert set(numbers_in(text, words=True)) <= known, (task.row, step.subgoal.text)
            known.update(*(numbers_in(result) for result in step.results))


@pytest.mark.parametrize("file", FILES)
def test_subgoals_name_what_they_seek(programs, file):
    """All but a few: those whose line has no words at all, as `60/6=10`."""
    texts = [strip_label(step.subgoal.text) for _, annotation in programs(file)[1] for step in annotation.steps]
    bare = [text for text in texts if re.match(r"(?:Add|Subtract|Multiply|Divide|Work out|Determine the next)\b", text)]
    assert len(bare) < 0.04 * len(texts)


@pytest.mark.long
def test_operands_are_linked_to_earlier_results(programs):
    """Every tenth row. All 7,113 rows: 18,035 linked, 2,541 ambiguous, 605 several, 172 with an unused result."""
    counts = Counter()
    for task, annotation in programs("gsm8k/train.jsonl")[1][::10]:
        linker = convert(task.question, task.gold["solution"], task.gold["answer"])[1]
        counts.update(linked=linker.link_count, ambiguous=linker.ambiguous, several=linker.several)
        counts["unused"] += len(linker.used_results) < sum(len(step.actions) for step in annotation.steps) - 1
    assert counts == {"linked": 1764, "ambiguous": 261, "several": 56, "unused": 18}
