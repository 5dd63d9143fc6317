"""Going on from stored subgoals: derived datasets, stepwise labels, kill and resume, new grounding. Scripted models."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from db.models import CompletionRow, EpisodeRow
from db.queries.derived_episodes import tries_of
from db.queries.jobs import get_job
from db.queries.tasks import load_keyed_tasks
from db.queue.figures import calls_by_ending, latency_by_role
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.stages import stages_of
from lumos_queue.cli.main import app
from lumos_queue.errors import SpecError
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import FinishReason
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.rollouts.derivation import derive, regroundings
from lumos_queue.rollouts.report import report_rollouts
from lumos_queue.rollouts.stepwise import RolloutCounts, gold_hits, judge, prefixes
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from tests.fake_endpoint import FakeEndpoint
from tests.faulty_agent import WRONG_SUBGOAL, WRONG_VALUE, FaultyAgent
from tests.forked_commands import Forked
from tests.integration.rollout_jobs import command, episodes, evaluate_agent, long_rows, rows_of, servers
from tests.kills import killed_child
from tests.scored_jobs import create_scored_job, tasks_of
from tests.services import wait_until
from tests.stored_rows import run_embedded

TASKS = 8


@pytest.fixture(scope="module")
def rows():
    return long_rows(3, TASKS)


def bare(rows):
    """The same problems with their answers and no gold solution."""
    tasks = [replace(task, gold={"answer": task.gold["answer"]}) for task in rows.tasks]
    return rows_of(rows.benchmark, tasks, rows.split)


def go_on(capsys, job: str, plans: FakeEndpoint, grounds: FakeEndpoint, *options: str):
    where = ["--where", f"job={job}", "--planner", plans.tgi, "--grounder", grounds.tgi]
    return command(app, capsys, "rollouts", *where, *options)[1]


@pytest.mark.parametrize("gold", [True, False], ids=["with gold", "without gold"])
def test_the_planted_wrong_step_is_found(rows, gold, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    names = [task.row for task in rows.tasks]
    planner, grounder = {names[0]: 1, names[1]: 2, names[2]: 3}, {names[3]: 2, names[4]: 3}
    wrong = planner | grounder
    with servers(FaultyAgent(rows.benchmark, rows.tasks, planner, grounder)) as (plans, grounds):
        own = rows if gold else bare(rows)
        agent = Agent(roles={"planner": plans.tgi, "grounder": grounds.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", own.digest, own.split, "iterative", agent))
        database, identifier = run_embedded(tmp_path, job, own)
    stored = {one.task.row: one for one in episodes(database, f"job={identifier}")}
    assert {row for row, one in stored.items() if one.scores["accuracy"] < 1} == set(wrong)
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {}, {})) as (plans, grounds):  # models that do not err
        found = go_on(capsys, identifier, plans, grounds, "--samples", "2")
    file = tmp_path / "labels.jsonl"
    _, report = command(app, capsys, "rollouts", "report", found["jobs"][0], "--out", file)
    made = {row["id"].removeprefix("wordmath/"): row for row in map(json.loads, file.read_text().splitlines())}
    assert made.keys() == set(names) and report["rows"] == TASKS and report["ended"] == report["rollouts"]
    for row, one in made.items():
        at = wrong.get(row, 99)
        assert one["labels"] == [
            number < at or (gold and _hits(stored[row], at)[number - 1]) for number in range(1, len(one["labels"]) + 1)
        ], (row, at)
        assert one["labels"][at - 1 : at] in ([False], [])
        by = {("gold" if gold else "rollouts") if label else "rollouts" for label in one["labels"]}
        assert set(one["by"]) == by
        assert one["rollouts"] == [[2 * (number < at), 2] for number in range(1, len(one["labels"]) + 1)]
        assert one["prompt"] == stored[row].task.question and one["episode"] == stored[row].name
        assert (one["split"], one["licence"]) == ("familiar", "MIT")
        shown = one["completions"][at - 1] if at <= len(one["completions"]) else ""
        assert not shown or (
            (WRONG_SUBGOAL in shown) == (row in planner) and (str(WRONG_VALUE) in shown) == (row in grounder)
        )
    database.close()


def _hits(episode, at: int) -> list[bool]:
    """Which values of the episode the gold solution has as well: what comes after a wrong step may not need it."""
    return gold_hits(stages_of(episode.steps), open_benchmark("wordmath").gold(episode.task))


def test_a_derived_task_says_where_it_comes_from_and_its_replies_are_its_content(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    database, job = evaluate_agent(tmp_path, rows, {rows.tasks[0].row: 2}, {})
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {rows.tasks[0].row: 2}, {})) as (plans, grounds):
        found = go_on(capsys, job, plans, grounds, "--samples", "1")
        again = go_on(capsys, job, plans, grounds, "--samples", "1")
        last = go_on(capsys, job, plans, grounds, "--samples", "1", "--at", "last")
        unsettled = go_on(capsys, job, plans, grounds, "--samples", "1", "--unsettled")
        deeper = go_on(capsys, found["jobs"][0], plans, grounds, "--samples", "1", "--at", "last")
    assert again["jobs"] == found["jobs"] != last["jobs"], "the same request is the same job"
    with database.engine.connect() as connection:
        tasks = list(load_keyed_tasks(connection, found["jobs"][0]).values())
        row = get_job(connection, found["jobs"][0])
        shape = calls_by_ending(connection, row.id)
        report = as_json(make_report(connection, row))
        latency = latency_by_role(connection, row.id)
        ends = [one.origin["subgoals"] for one in tries_of(connection, get_job(connection, last["jobs"][0]))]
        left = list(load_keyed_tasks(connection, unsettled["jobs"][0]).values())
        deep = list(load_keyed_tasks(connection, deeper["jobs"][0]).values())
    sources = {one.name: one for one in episodes(database, f"job={job}")}
    assert len(tasks) == sum(_subgoals(one) for one in sources.values())
    assert (row.benchmark, row.split, row.licence) == ("wordmath", "familiar", "MIT")
    for task in tasks:
        origin, given = task.inputs["from"], task.inputs["given"]
        source = sources[origin["episode"]]
        assert task.row == f"{source.task.row}@{source.name}:{origin['subgoals']}"
        assert (task.question, task.gold, origin["row"]) == (source.task.question, source.task.gold, source.task.row)
        for role in ("planner", "grounder"):
            assert given[role] == _said(source, role)[: origin["subgoals"]]
    assert ends == [_subgoals(one) for one in sources.values()]
    assert {task.inputs["from"]["episode"] for task in left} == {f"{job}-0"} and left[0].inputs["from"]["subgoals"] == 2
    assert {task.inputs["from"]["row"] for task in deep} == {task.row for task in rows.tasks}
    assert all(len(task.inputs["given"]["planner"]) == task.inputs["from"]["subgoals"] for task in deep)
    # What was given is no call: not in an episode's count, not in the mean latency; the rule of calls still holds.
    made = episodes(database, f"job={row.id}")
    assert all(
        one.totals.calls == sum(_is_call(step) for step in one.steps) < len([s for s in one.steps if s.role])
        for one in made
    )
    assert report["calls_as_expected"] == {"episodes": len(made), "as_expected": len(made)}
    assert sum(calls for _, calls, _ in latency) == report["calls"] < sum(calls * n for _, _, calls, n in shape)
    database.close()


def _subgoals(episode) -> int:
    return sum(hasattr(step.detail, "number") for step in episode.steps)


def _said(episode, role: str) -> list[str]:
    return [step.result.text for step in episode.steps if step.role == role]


def _is_call(step) -> bool:
    return bool(step.role) and step.result.finish_reason != FinishReason.GIVEN


def test_labels_of_a_test_split_are_written_only_if_allowed(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    held_out = rows_of(rows.benchmark, rows.tasks[:2], "test")
    database, job = evaluate_agent(tmp_path, held_out, {}, {})
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {}, {})) as (plans, grounds):
        found = go_on(capsys, job, plans, grounds, "--samples", "1", "--at", "last")
    refused, allowed = tmp_path / "refused.jsonl", tmp_path / "allowed.jsonl"
    _, report = command(app, capsys, "rollouts", "report", found["jobs"][0], "--out", refused)
    assert (report["rows"], report["of_test_split"], refused.read_text()) == (0, 2, "") and report["labels"]
    _, report = command(app, capsys, "rollouts", "report", found["jobs"][0], "--out", allowed, "--allow-test")
    assert (report["rows"], report["of_test_split"], report["warning"]) == (2, 0, "")
    assert len(allowed.read_text().splitlines()) == 2
    database.close()


def test_the_digest_of_a_derived_dataset_is_of_its_given_replies_too(rows, tmp_path):
    database, job = evaluate_agent(tmp_path, rows, {}, {})
    one = derive(episodes(database, f"job={job}"), prefixes("each", False)).rows[""]
    same = derive(episodes(database, f"job={job}"), prefixes("each", False)).rows[""]
    assert one.digest == same.digest != rows.digest
    task = one.tasks[0]
    changed = replace(task, inputs=task.inputs | {"given": {"planner": ["Subgoal 1: Another."]}})

    assert rows_of(rows.benchmark, [changed, *one.tasks[1:]], one.split).digest != one.digest
    database.close()


def test_requests_that_cannot_be_carried_out_are_refused_before_anything_is_stored(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    database, job = evaluate_agent(tmp_path, rows, {}, {})
    ends = ["--planner", "tgi://127.0.0.1:1", "--grounder", "tgi://127.0.0.1:1"]
    for problem, arguments in {
        "give --where": [],
        "No field called": ["--where", "colour=red"],
        "Greedy samples": ["--where", f"job={job}", "--temperature", "0", *ends],
        "it finds none": ["--where", "job=nothing", *ends],
        "all its values are gold values": ["--where", f"job={job}", "--unsettled", *ends],
        "No endpoint for the role planner": ["--where", f"job={job}"],
        "place to continue from": ["--where", f"job={job}", "--at", "first"],
    }.items():
        with pytest.raises(SpecError, match=problem):
            command(app, capsys, "rollouts", *arguments)
    assert len(set(one.job for one in episodes(database, ""))) == 1
    with pytest.raises(SpecError, match="not derived"):
        command(app, capsys, "rollouts", "report", job)
    database.close()


def test_labels_wait_for_all_rollouts_and_a_step_that_nothing_judges_has_none():
    class Stage:
        value = "3"

    over, under, running = RolloutCounts(4, 4, 2), RolloutCounts(4, 4, 1), RolloutCounts(4, 3, 3)
    made = judge([Stage()] * 4, None, {1: over, 2: under, 3: running}, 0.5)
    assert [(one.right, one.by) for one in made] == [
        (True, "rollouts"),
        (False, "rollouts"),
        (None, "rollouts"),
        (None, ""),
    ]


def test_a_killed_rollout_job_goes_on_and_repeats_no_recorded_call(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    database, job = evaluate_agent(tmp_path, rows, {rows.tasks[0].row: 2}, {})
    derived = derive(episodes(database, f"job={job}"), prefixes("each", False)).rows[""]
    settings = Settings(home=tmp_path, concurrency=4)
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {}, {}), latency=0.2) as (plans, grounds):
        agent = Agent(roles={"planner": plans.tgi, "grounder": grounds.tgi}, domain="maths")
        infer = Infer("wordmath", derived.digest, derived.split, "iterative", agent, samples=2)
        rollouts, _ = submit(database, settings, Evaluate(infer), derived)
        worker = Forked(killed_child.resume_job, settings, rollouts)
        try:
            wait_until(lambda: _recorded(database, rollouts)[0] > 8, "some calls are recorded", 60)
        finally:
            worker.kill()
        before, given = _recorded(database, rollouts)
        assert given, "given replies were recorded before the kill"
        plans.latency = grounds.latency = 0.0
        killed_child.end_sessions(settings)
        earlier = plans.count + grounds.count
        killed_child.resume_job(settings, rollouts)
        asked = plans.count + grounds.count - earlier
    after, _ = _recorded(database, rollouts)
    made = episodes(database, f"job={rollouts}")
    assert len(made) == 2 * len(derived.tasks) and {one.ending for one in made} == {"answered"}
    assert after == sum(one.totals.calls for one in made)
    assert asked == after - before, "exactly what was not recorded when the process died was asked"
    for one in made:
        for role in ("planner", "grounder"):
            steps = [step for step in one.steps if step.role == role]
            expected = one.task.inputs["given"][role]
            assert [step.result.text for step in steps[: len(expected)]] == expected
            assert [step.result.finish_reason == FinishReason.GIVEN for step in steps] == [
                n < len(expected) for n in range(len(steps))
            ]
    database.close()


def _recorded(database, job: str) -> tuple[int, int]:
    """How many completions of the job are recorded that a model made, and how many that were given."""
    counted = (
        select(CompletionRow.finish_reason == FinishReason.GIVEN, func.count())
        .join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        .where(EpisodeRow.job == job)
        .group_by(CompletionRow.finish_reason == FinishReason.GIVEN)
    )
    with database.engine.connect() as connection:
        found = {bool(key): count for key, count in connection.execute(counted)}
    return found.get(False, 0), found.get(True, 0)


def test_stored_plans_are_grounded_anew(rows, tmp_path, monkeypatch, capsys):
    """A grounder that erred is replaced by one that does not: the plans stay, every action runs again."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    wrong = {rows.tasks[0].row: 1, rows.tasks[1].row: 2}
    database, job = evaluate_agent(tmp_path, rows, {}, wrong)
    assert {one.task.row for one in episodes(database, f"job={job} score<1")} == set(wrong)
    with FakeEndpoint(FaultyAgent(rows.benchmark, rows.tasks, {}, {}).ground) as grounds:
        _, found = command(app, capsys, "reground", "--where", f"job={job}", "--grounder", grounds.tgi)
    sources = {one.name: one for one in episodes(database, f"job={job}")}
    made = episodes(database, f"job={found['jobs'][0]}")
    assert len(made) == TASKS and all(one.scores["accuracy"] == 1 for one in made)
    for one in made:
        source = sources[one.task.inputs["from"]["episode"]]
        assert _said(one, "planner") == _said(source, "planner")
        assert one.totals.calls == len(_said(one, "grounder")) == _subgoals(source)
    database.close()


def test_converted_annotations_are_grounded_anew_too(rows, tmp_path):
    """What is given then is the text that the noted subgoals would have been replied in."""
    database, _ = evaluate_agent(tmp_path, rows, {}, {})
    (source, *_) = episodes(database, "")
    annotated = replace(source, formulation="annotation", steps=tuple(step for step in source.steps if not step.role))
    given = derive([annotated], regroundings).rows[""].tasks[0].inputs["given"]
    assert given == {"planner": _said(source, "planner")}
    kept = derive([annotated], prefixes("last", False)).rows[""].tasks[0].inputs["given"]
    assert kept == {"planner": _said(source, "planner")[:-1], "grounder": _said(source, "grounder")}
    database.close()


def test_episodes_of_two_kinds_are_two_jobs(rows, tmp_path):
    database, _ = evaluate_agent(tmp_path, rows, {}, {})
    found = episodes(database, "")
    with pytest.raises(SpecError, match="one benchmark, split, licence and formulation"):
        derive([found[0], replace(found[1], split="test")], prefixes("each", False))
    database.close()


@pytest.mark.parametrize("origin", [{"episode": "k3f9a2cd-1"}, {"subgoals": 2}, "k3f9a2cd-1", ["episode", "subgoals"]])
def test_a_job_whose_tasks_name_an_episode_and_no_subgoals_of_it_is_refused(database, origin):
    """A judge's tasks name the episode that they judge."""
    job = create_scored_job(database, [[1]], tasks_of(1, **{"from": origin}))
    with pytest.raises(SpecError, match=f"tasks of job {job} are not derived from episodes"):
        report_rollouts(database, job, 0.5, [].append)
