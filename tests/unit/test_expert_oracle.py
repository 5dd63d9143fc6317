"""Gold plans, and others, by experts that know the answer."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.backends.oracle import WRONG_IMAGE, WRONG_TEXT
from lumos_queue.experts.base import Kind
from lumos_queue.experts.check import check_value
from lumos_queue.experts.originals import Origin, read_origin
from lumos_queue.records import Ending, Execution
from tests.expert_tasks import ALL, calls_of, make_task, references, run_task, source_of

TOOLS = prepare_experts({"experts": "oracle"})


def last_value(run) -> dict:
    return run.actions[-1][1].values[0]


@pytest.fixture(scope="module")
def gold() -> list:
    """Every task with its gold plan: run and journal."""

    async def run() -> list:
        actions = ExpertActions(TOOLS)
        found = [await run_task(*make_task(spec), spec.plan.write(), actions) for spec in ALL]
        await actions.close()
        return found

    return asyncio.run(run())


def test_gold_plans_recover_every_sample(gold):
    for spec, (run, _) in zip(ALL, gold, strict=True):
        assert run.outcome.ending == Ending.ANSWERED, (spec.id, run.outcome)
        value = last_value(run)
        if spec.goal.output is Kind.TEXT or spec.category == "image-image":
            assert value["items"] == references(spec), spec.id
        assert not value["problems"]


def test_what_gold_plans_run_and_what_is_reused(gold):
    """649 runs of a sample, of which 304 differ in expert, source and what was done before; outputs may coincide."""
    histories, made = set(), Counter()
    for _, journal in gold:
        calls = calls_of(journal)
        made.update(one.result.provenance for one in calls)
        for one in calls:
            origins = one.command.arguments["origins"]
            first = [(slot[0][0], slot[0][3], tuple(slot[0][5]), tuple(slot[0][6])) for slot in origins]
            histories.add((one.command.arguments["expert"], *first))
    assert sum(made.values()) == 649 == sum(len(spec.plan.names) for spec in ALL)
    history = {(name, source_of(spec), *state) for spec in ALL for name, *state in _histories(spec)}
    print(f"runs {sum(made.values())}, distinct histories {len(history)}, made {made['oracle']}")
    assert len(history) == 304
    assert made["oracle"] == len(histories) and made["recorded"] == 649 - len(histories)


def _histories(spec) -> list[tuple]:
    """Of each run of the gold plan: the expert, and what its inputs went through before."""
    found, lanes = [], []
    start = [(one.slot.name, one.augmentations) for one in spec.channels]
    for lane, branch in enumerate(spec.plan.branches):
        for index, name in enumerate(branch):
            found.append((name, start[lane], branch[:index]))
        lanes.append((start[lane], branch))
    before = tuple(lanes) if spec.plan.branches else (start[0],)
    for index, name in enumerate(spec.plan.tail):
        found.append((name, before, spec.plan.tail[:index]))
    return found


def test_restorations_may_come_in_any_order():
    async def run() -> None:
        spec, actions = ALL[0], ExpertActions(TOOLS)
        for order in itertools.permutations(spec.plan.tail):
            done, _ = await run_task(*make_task(spec), ",".join(order), actions)
            assert last_value(done)["items"] == references(spec), order

    asyncio.run(run())


@pytest.mark.parametrize(
    ("number", "wire", "right"),
    [
        (15, "Image Denoising,Image Deblurring,Colorization,Image Captioning,Machine Translation,", False),
        (15, "Image Captioning,Machine Translation,", False),
        (15, "Image Super Resolution,Image Denoising,Image Deblurring,Colorization,Image Classification,", False),
        (105, "Text to Image Generation,", False),
        (1, "Image Denoising,Image Deblurring,", False),
        (1, "Colorization,Image Deblurring,Image Denoising,Image Super Resolution,", True),
        (18, "Image Super Resolution,Image Denoising,Image Deblurring,Colorization,Image Captioning,Fill Mask,", True),
    ],
)
def test_what_is_left_out_is_missed(number, wire, right):
    spec = ALL[number]

    async def run():
        return await run_task(*make_task(spec), wire, ExpertActions(TOOLS))

    done, _ = asyncio.run(run())
    assert done.outcome.ending == Ending.ANSWERED
    assert (last_value(done)["items"] == references(spec)) == right


def test_another_category_recovers_nothing_and_runs_nothing(gold):
    first = {spec.category: spec for spec in reversed(ALL)}

    async def run() -> None:
        for task, plan in itertools.permutations(first.values(), 2):
            done, journal = await run_task(*make_task(task), plan.plan.write(), ExpertActions(TOOLS))
            assert done.outcome.ending == Ending.INFEASIBLE and done.outcome.message
            assert not done.actions and not calls_of(journal)

    asyncio.run(run())


def test_hostile_sources_give_no_sample_and_end_no_episode():
    spec = ALL[1]
    for sources in (
        [{"channel": "image", "source": "nothing", "samples": [0, 1]}],
        [{"channel": "image", "source": "labels", "samples": [0, "1"]}],
        [{"channel": "image", "source": "labels", "samples": [0]}],
        [{"channel": "image", "source": "labels", "samples": [0, 10**12], "augmentations": [1]}],
        [{"channel": "image", "source": "labels", "split": "x", "samples": [0, 1], "augmentations": ["noisy"]}],
        ["x"],
        {"a": 1},
    ):
        task, artifacts = make_task(spec)
        task.inputs["sources"] = sources
        run, _ = asyncio.run(run_task(task, artifacts, "Image Denoising", ExpertActions(TOOLS)))
        assert run.outcome.ending == Ending.ANSWERED


def test_what_is_wrong_is_of_the_right_type():
    assert check_value(Kind.IMAGE, WRONG_IMAGE) == WRONG_IMAGE
    assert check_value(Kind.TEXT, WRONG_TEXT) == WRONG_TEXT


def test_an_origin_is_read_as_it_was_written():
    origin = Origin("captions", "test", 3, "image", "strong", ("noisy",), ("Image Captioning",))
    assert read_origin(origin.as_json()) == origin
    for hostile in (None, [], ["a"] * 7, ["a", "b", -1, "c", "d", [], []], ["a", "b", 1, "c", "d", [1], []]):
        assert read_origin(hostile) is None


def test_a_resumed_episode_repeats_no_call(gold):
    spec = ALL[119]
    run, journal = gold[119]
    for kept in range(len(journal.steps) + 1):
        partly = MemoryJournal(journal.steps[:kept])
        partly.artifacts.update(journal.artifacts)
        task, artifacts = make_task(spec)
        again, after = asyncio.run(run_task(task, artifacts, spec.plan.write(), ExpertActions(TOOLS), partly))
        assert again.outcome == run.outcome and last_value(again) == last_value(run)
        assert len({(one.position, one.branch) for one in after.steps}) == len(after.steps) == len(journal.steps)


def test_the_results_say_what_they_are(gold):
    _, journal = gold[119]
    assert all(isinstance(one.result, Execution) and one.result.provenance for one in calls_of(journal))
