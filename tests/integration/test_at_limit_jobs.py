"""Jobs whose episodes reach their limit of subgoals: report, rollouts, blame and builds follow the one rule."""

from __future__ import annotations

import pytest

from db.queries.jobs import get_job
from lumos_queue.builds.candidates import failure_reason
from lumos_queue.cli.main import app
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from tests.faulty_agent import FaultyAgent
from tests.integration.rollout_jobs import command, episodes, long_rows, servers
from tests.stored_rows import run_embedded

MOST = 4


@pytest.fixture(scope="module")
def rows():
    """Problems of four subgoals, which end right at the limit, and of more, which it cuts off."""
    found = long_rows(MOST, 12)
    steps = [len(found.benchmark.gold(task).steps) for task in found.tasks]
    assert 0 < steps.count(MOST) < len(steps)
    return found


@pytest.mark.parametrize("at_limit", ["conclude", "wrong"])
def test_what_a_limit_is_worth_is_the_same_to_report_rollouts_blame_and_builds(
    rows, at_limit, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    whole = sum(len(rows.benchmark.gold(task).steps) == MOST for task in rows.tasks)
    right = whole if at_limit == "conclude" else 0
    with servers(FaultyAgent(rows.benchmark, rows.tasks, {}, {})) as (plans, grounds):
        roles = {"planner": plans.tgi, "grounder": grounds.tgi}
        agent = Agent(roles, "maths", max_subgoals=MOST, at_limit="" if at_limit == "conclude" else at_limit)
        job = Evaluate(Infer("wordmath", rows.digest, rows.split, "iterative", agent))
        database, identifier = run_embedded(tmp_path, job, rows)
        with database.engine.connect() as connection:
            report = as_json(make_report(connection, get_job(connection, identifier)))
        asked = (
            "--where",
            f"job={identifier}",
            "--planner",
            plans.tgi,
            "--grounder",
            grounds.tgi,
            "--max-subgoals",
            str(MOST),
            "--at-limit",
            at_limit,
            "--samples",
            "1",
            "--temperature",
            "0",
        )
        _, rolled = command(app, capsys, "rollouts", *asked, "--at", "last")
        _, blamed = command(app, capsys, "blame", *asked)
    assert report["endings"] == {"limit": len(rows.tasks)} and report["correct"] == right
    assert report["metrics"]["strict"]["value"] == 0
    assert report["scoring"] == {
        "at_limit": at_limit,
        "versions": {"accuracy": {"3": len(rows.tasks)}, "strict": {"1": len(rows.tasks)}},
    }
    stored = episodes(database, f"job={identifier}")
    assert {one.at_limit for one in stored} == {at_limit}
    assert sum(not failure_reason(one) for one in stored) == right
    assert len(episodes(database, f"job={identifier} score=1 ending=limit")) == right
    _, found = command(app, capsys, "rollouts", "report", rolled["jobs"][0])
    assert (found["ended"], found["right"]) == (len(rows.tasks), right)
    assert blamed["left_out"].get("its answer is right", 0) == right
    assert blamed["episodes"] == len(rows.tasks) - right
    _, faults = command(app, capsys, "blame", "report", *blamed["jobs"])
    assert faults["faults"]["both"] == blamed["episodes"], "neither gold module goes beyond the limit"
    database.close()
