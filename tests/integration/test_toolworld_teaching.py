"""Rollouts of ToolWorld as stored jobs, and the rows that the teacher writes at their prompts."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

import pytest

from db.engine.connection import Database, open_database
from db.queries.filters import parse_where
from db.queries.trajectories import StoredEpisode, stream_episodes
from experiments.toolworld import policies, rows
from experiments.toolworld.plan import read_sweep
from experiments.toolworld.policies import Policies, noisy, teach
from experiments.toolworld.results import count_repeated_calls, print_results, prompt_lengths
from experiments.toolworld.rows import TaughtRows, label_rollouts, read_rollouts, write_rows
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.prompts.tool_agent import SYSTEM
from lumos_queue.records import Action
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows
from lumos_queue.text_calls.three_lines import read_reply
from lumos_queue.util.plugins import TRUSTED
from tests.forked_commands import Forked
from tests.kills.killed_child import end_sessions
from tests.stored_rows import make_tables, run_embedded, submit
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

NOISY = "function:experiments.toolworld.policies:noisy"
BENCHMARK = open_benchmark("toolworld")
DIALS = {"parts": "1-2", "links": "1-2", "faults": "0.5", "traps": "0.3"}
LIMITS = Limits(calls=30)
TASKS = 30


def rollouts(formulation: str, split: str = "train", many: int = TASKS, **settings: str) -> tuple[Infer, Rows]:
    TRUSTED.add_named(NOISY)
    tasks = tuple(replace(one, dataset="d") for one in islice(BENCHMARK.read(None, split, **DIALS), many))
    loaded = FORMULATIONS.load(formulation)
    agent = Agent(
        dict.fromkeys(loaded.roles, NOISY), "tools", limits=LIMITS, samplings=loaded.samplings, settings=settings
    )
    return Infer("toolworld", "d", split, formulation, agent), Rows(BENCHMARK, split, "d", tasks, ())


def episodes(database: Database, job: str) -> list[StoredEpisode]:
    return list(stream_episodes(database, parse_where(f"job={job}")))


@pytest.fixture(scope="module")
def taught(tmp_path_factory) -> dict[str, TaughtRows]:
    """The rows of each formulation, of the same tasks."""
    made = {}
    for name, settings in (("react", {}), ("sum2act", {}), ("rewrite", {"update": "rewrite", "decompose": "yes"})):
        formulation = "sum2act" if settings else name
        stored = run_embedded(tmp_path_factory.mktemp(name), *rollouts(formulation, **settings))
        made[name] = label_rollouts(episodes(*stored))
    return made


def test_all_formulations_are_taught_at_prompts_of_the_same_tasks(taught):
    assert taught["react"].tasks == taught["sum2act"].tasks == taught["rewrite"].tasks
    assert len(taught["react"].tasks) == TASKS
    assert {name: set(one.by_role) for name, one in taught.items()} == {
        "react": {"policy"},
        "sum2act": {"router", "state_manager"},
        "rewrite": {"router", "state_manager"},
    }


def test_the_rows_have_the_teachers_reply_and_not_what_the_noisy_policy_said(taught):
    react = taught["react"]
    told = [noisy(prompt) == reply for prompt, reply in react.by_role["policy"]]
    assert Counter(told) == react.agreed and 0.02 < told.count(False) / len(told) < 0.3
    for role, found in react.by_role.items():
        for prompt, reply in found:
            assert role == "policy" and prompt.startswith(SYSTEM) and reply == teach(prompt)
            assert read_reply(reply).action and read_reply(reply).thought and json.loads(read_reply(reply).arguments)


def test_no_task_that_is_for_testing_is_among_the_rows(taught, tmp_path):
    asked = {one.question for split in BENCHMARK.test_splits for one in BENCHMARK.read(None, split, **DIALS)}
    assert not asked & taught["react"].tasks
    with pytest.raises(SpecError, match="is of 'I2-inst', a split to test with: give rollouts of 'train'"):
        label_rollouts(episodes(*run_embedded(tmp_path, *rollouts("react", "I2-inst", 1))))


def test_a_search_adds_the_prompts_that_tell_what_was_tried(taught, tmp_path):
    stored = run_embedded(tmp_path, *rollouts("dfsdt"))
    found = label_rollouts(episodes(*stored))
    more = found.by_role["policy"].keys() - taught["react"].by_role["policy"].keys()
    assert any("This is not the first try at this point" in prompt for prompt, _ in more)


def die_after_some(folder: Path) -> None:
    """Work on the rollouts, and end at once when the policy is asked for the 41st time."""
    noisy, remaining = policies.noisy, iter(range(40))

    def answer(prompt):
        if next(remaining, None) is None:
            os._exit(9)
        return noisy(prompt)

    policies.noisy = answer
    work_on(folder)


def work_on(folder: Path, stop: Callable[[], bool] = lambda: False) -> tuple[Database, str]:
    """The rollouts of Sum2Act in the folder's database, a few at a time, from where they are."""
    settings = Settings(home=folder, concurrency=4, poll_seconds=0.1)
    database = open_database(settings.database)
    job, _ = submit(database, settings, *rollouts("sum2act"))
    process = WorkerContext(Deployment(settings))
    try:
        Dispatcher(process, ["llm"], only=job).run(stop)
    finally:
        process.close()
    return database, job


def test_rollouts_that_were_killed_in_their_middle_go_on_and_make_the_same_rows(taught, tmp_path):
    make_tables(tmp_path)
    assert Forked(die_after_some, tmp_path).wait() == 9
    end_sessions(Settings(home=tmp_path))
    before = open_database(Settings(home=tmp_path).database)
    done_before = list(stream_episodes(before, parse_where("benchmark=toolworld")))
    before.close()
    assert 0 < len(done_before) < TASKS
    database, job = work_on(tmp_path)
    assert {one.job for one in done_before} == {job} and len(episodes(database, job)) == TASKS
    assert label_rollouts(episodes(database, job)).by_role == taught["sum2act"].by_role


def test_written_rows_are_read_as_single_replies_and_the_same_rows_are_the_same_files(taught, tmp_path, monkeypatch):
    def broken(conversations, path: Path) -> int:
        path.write_text(next(iter(conversations)).as_json()[:50])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(rows, "write_conversations", broken)
        write_rows(taught["rewrite"], tmp_path, "sum2act")
    assert not list(tmp_path.glob("*.jsonl")), "rows that were cut off are no file of rows"
    counts = write_rows(taught["rewrite"], tmp_path, "sum2act")
    before = {one: one.read_bytes() for one in tmp_path.glob("*.jsonl")}
    assert write_rows(taught["rewrite"], tmp_path, "sum2act") == counts
    assert {one: one.read_bytes() for one in tmp_path.glob("*.jsonl")} == before
    for path in before:
        role = path.name.removesuffix("_sum2act.jsonl")
        read = [(one.turns[0].content, one.turns[1].content) for one in read_conversations(path)]
        assert read == list(taught["rewrite"].by_role[role]) and len(read) == counts["rows"][role]


def test_a_job_that_is_not_done_or_is_of_another_benchmark_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    make_tables(tmp_path)
    database, job = work_on(tmp_path, lambda: True)
    with pytest.raises(SpecError, match=f"The job {job} is .*: go on with lumos resume {job}"):
        list(read_rollouts([job]))
    infer, tasks = rollouts("react", many=1)
    other = replace(tasks, benchmark=open_benchmark("toolbench"), digest="e")
    job, _ = submit(database, Settings(home=tmp_path), replace(infer, benchmark="toolbench", dataset="e"), other)
    with pytest.raises(SpecError, match=f"The job {job} is of 'toolbench': the teacher knows 'toolworld' alone"):
        list(read_rollouts([job]))


def test_nothing_is_written_where_there_is_no_row(tmp_path):
    with pytest.raises(SpecError, match="no prompt at which the teacher knows"):
        write_rows(TaughtRows(), tmp_path / "rows", "react")
    assert not (tmp_path / "rows").exists()


def test_what_the_teacher_does_not_know_is_counted_and_left_out():
    assert teach(f"{SYSTEM}nothing that can be read") is None and Policies(0, 0.0).of("policy")("nothing")
    found = TaughtRows()
    found.add("policy", "a prompt", "said", None)
    assert found.unanswered == 1 and not found.by_role


SWEEP = """
title = "Two models"
seeds = [0]
tasks = 12
cells = { plain = {}, faults = { faults = 0.5 } }
fit = { steps = 2 }
[models.react]
rollouts = [{ formulation = "react" }]
plays = { react = { formulation = "react" } }
[models.sum2act]
rollouts = [{ formulation = "sum2act" }]
plays = { sum2act = { formulation = "sum2act" } }
"""


def test_the_tables_tell_what_was_reached_and_the_differences_on_the_same_tasks(tmp_path, capsys):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    plan, jobs, stored = read_sweep(tmp_path / "sweep.toml"), {}, {}
    for name in ("react", "sum2act"):
        infer, tasks = rollouts(name, "I2-inst", 12)
        database, jobs[f"plain, {name}, seed 0"] = run_embedded(tmp_path / "home", Evaluate(infer), tasks)
        stored[name] = episodes(database, jobs[f"plain, {name}, seed 0"])
        database.close()
    print_results(plan, jobs, tmp_path, tmp_path / "scores.svg")
    assert "not run" in (tmp_path / "scores.svg").read_text(), "nothing was played in the cell 'faults'"
    lines = capsys.readouterr().out.splitlines()
    share = 100 * fmean(one.scores["verified_pass"] for one in stored["react"] if "verified_pass" in one.scores)
    (react,) = [line for line in lines if "react" in line and "[" in line and "sum2act" not in line]
    pooled, pair = (line for line in lines if "react" in line and "sum2act" in line)
    assert f" {share:.1f} [" in react and f"{fmean(one.totals.calls for one in stored['react']):.1f}" in react
    judged = sum("verified_pass" in one.scores for one in stored["react"])
    assert f"of {judged}" in pair and f" {judged} " in pooled
    assert "plain" in pair and not any("faults" in line for line in lines)
    lengths = prompt_lengths(stored["react"])
    assert lengths[0] < lengths[1] < lengths[2] and len(lengths) == max(one.totals.calls for one in stored["react"])


def test_calls_that_were_made_before_are_counted_refused_ones_too(tmp_path):
    one, *_ = episodes(*run_embedded(tmp_path, *rollouts("react", many=1)))
    calls = [step for step in one.steps if isinstance(step.detail, Action)]
    refused = [replace(step, detail=replace(step.detail, name=REPEATED)) for step in calls]
    assert len(calls) > 1 and count_repeated_calls(one) == 0
    assert count_repeated_calls(replace(one, steps=[*one.steps, *one.steps])) == len(calls)
    assert count_repeated_calls(replace(one, steps=[*one.steps, *refused, *refused])) == 2 * len(calls)
