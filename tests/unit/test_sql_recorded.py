"""InterCode-SQL on the real records: gold, wrong and GPT-4's episodes, through the real actions and scores."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.benchmarks.intercode_sql.benchmark import benchmark
from lumos_queue.errors import SpecError
from tests.gold_sql import differences, judge, play, replay, sql_tasks, sql_tools


@pytest.fixture(scope="module")
def tasks(shared_data):
    return sql_tasks(shared_data)


def run_all(shared_data, tasks, annotation_for):
    """Metric to the scores of all tasks, each answered by the annotation that is chosen for it."""
    tools = sql_tools(shared_data)

    async def run():
        actions, found = SqlActions(tools), []
        for task in tasks:
            outcome, seen = await play(actions, task, annotation_for(task))
            found.append(await asyncio.to_thread(judge, task, outcome, seen, tools))
        await actions.close()
        return found

    return asyncio.run(run())


def test_gold_is_right_on_some_tasks(shared_data, tasks):
    scores = run_all(shared_data, tasks[::10], benchmark.gold)
    for metric in ("success", "success_order_aware", "intercode_reward", "iou_reward", "iou_success"):
        assert sum(one[metric].value for one in scores) == 71


@pytest.mark.long
def test_gold_is_right_on_every_task_and_the_files_stay_as_they_are(shared_data, tasks):
    files = sorted((shared_data / "spider/database").rglob("*.sqlite"))
    before = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    scores = run_all(shared_data, tasks, benchmark.gold)
    assert len(scores) == 701
    for metric in ("success", "success_order_aware", "intercode_reward", "iou_reward", "iou_success"):
        assert sum(one[metric].value for one in scores) == 701
    # 72, not the 75 of the plain files: three conditions hold when letter case is ignored, as MySQL does.
    assert sum(one["success_nonempty"].of for one in scores) == 701 - 72
    assert sum(one["success_nonempty"].value for one in scores) == 701 - 72
    assert [hashlib.sha256(file.read_bytes()).hexdigest() for file in files] == before


@pytest.mark.long
def test_another_databases_query_is_wrong_on_every_task(shared_data, tasks):
    def wrong(task):
        place = tasks.index(task)
        others = (one for one in tasks[place:] + tasks if one.inputs["database"] != task.inputs["database"])
        return benchmark.gold(next(others))

    scores = run_all(shared_data, tasks, wrong)
    assert sum(one["success"].value + one["success_order_aware"].value for one in scores) == 0


@pytest.fixture(scope="module")
def episodes(shared_data):
    """GPT-4's recorded episodes on our copies."""
    return asyncio.run(replay(shared_data))


def test_the_recorded_episodes_end_as_they_did(episodes):
    assert len(episodes) == 60
    assert sum(one.original == one.recorded for one in episodes) >= 55
    assert sum(one.iou == one.recorded for one in episodes) >= 59
    assert sum((one.recorded == 1) == (one.order_aware == 1) for one in episodes) >= 59
    assert not [line for line in differences(episodes) if "unexplained" in line]


def test_the_recorded_rewards_are_those_without_tau(episodes):
    turns = [turn for one in episodes for turn in one.turns]
    assert len(turns) == 291
    plain = [turn for turn in turns if abs(turn.reward - turn.iou) < 0.001]
    with_tau = [turn for turn in turns if abs(turn.reward - turn.original) < 0.001]
    assert (len(plain), len(with_tau)) == (290, 281)


@pytest.mark.long
def test_spiders_gold_queries_run(shared_data):
    rows = json.loads((shared_data / "spider/dev.json").read_text())

    async def run():
        databases = SqlActions(sql_tools(shared_data))._databases
        replies = [await databases.ask(row["db_id"], row["query"]) for row in rows]
        await databases.close()
        return replies

    assert [reply["kind"] for reply in asyncio.run(run())] == ["query"] * 701


def test_baselines_and_their_tasks(tasks):
    right = {name: sum(verdicts) for name, verdicts in benchmark.baselines(tasks).items()}
    assert right == {"an empty answer": 72, "all of the first table": 46}


def test_without_the_databases_there_is_no_gold_annotation(shared_data, tasks):
    (first, *_) = benchmark.read(shared_data / "intercode_sql/ic_spider_dev.json", "dev")
    assert first == replace(tasks[0], gold={"answer": first.gold["answer"], "ordered": True})
    with pytest.raises(SpecError, match="databases"):
        benchmark.gold(first)
