"""A-OKVQA and ScienceQA-IMG through the iterative formulation, the actions and the score: right is 1.0, wrong is 0."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.records import Task
from tests.gold_vision import SEEN, ScriptedVqa, evaluate


def aokvqa(data: Path) -> list[Task]:
    return list(open_benchmark("aokvqa").read(data / "aokvqa" / "aokvqa_v1p0_val.json", "val"))  # type: ignore[arg-type]


def scienceqa(data: Path) -> list[Task]:
    captions = str(data / "scienceqa" / "captions.json")
    read = open_benchmark("scienceqa").read
    return [one for split in ("train", "val", "test") for one in read(data / "scienceqa", split, captions=captions)]  # type: ignore[misc]


#: No image is there but one of each: A-OKVQA is asked blind, ScienceQA with the captions that came with it.
SETS = {"aokvqa": (aokvqa, 845, "none"), "scienceqa": (scienceqa, 271, "caption")}


@pytest.mark.parametrize("wrong", [False, True], ids=["gold", "wrong"])
@pytest.mark.parametrize("name", SETS)
def test_gold_is_right_and_wrong_is_wrong_on_every_row(shared_data, name, wrong):
    read, count, shown = SETS[name]
    tasks, benchmark = read(shared_data), open_benchmark(name)
    assert len(tasks) == count
    vqa = ScriptedVqa(tasks, wrong)
    found = asyncio.run(evaluate(benchmark, tasks, vqa, DOMAINS.load("multimodal").open_actions({"vision": shown})))
    assert {result.outcome.ending for result, _ in found if result.outcome} == {"answered"}
    scores = [{score.metric: score.value for score in result.scores} for result, _ in found]
    assert scores == [{"accuracy": 0.0 if wrong else 1.0, "unparsed": 0.0}] * count
    assert len(vqa.prompts) == 2 * count and set(vqa.images) == {0}
    assert all(f"We can also see that {SEEN}. There're" in prompt for prompt in vqa.prompts[1::2])
    if shown == "caption":
        assert all(task.inputs["caption"] in prompt for task, prompt in zip(tasks, vqa.prompts[1::2], strict=True))
    assert asyncio.run(vqa.identity()) == {"model": "ScriptedVqa", "images": "no image seen"}


def test_a_row_without_its_image_is_wrong_unless_asked_otherwise(shared_data):
    """The default shows the image: 844 of A-OKVQA's rows have none here, and fail with a named error."""
    tasks = aokvqa(shared_data)[:5]
    (result, steps), *_ = asyncio.run(
        evaluate(open_benchmark("aokvqa"), tasks, ScriptedVqa(tasks), DOMAINS.load("multimodal").open_actions())
    )
    assert result.outcome and result.outcome.ending == "action_error"
    assert [score.value for score in result.scores] == [0.0, 0.0]
    assert any(getattr(step.result, "status", "") == "no_image" for step in steps)
