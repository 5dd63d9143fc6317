"""Both rules of ToolEval in the report of `lumos judge`: new jobs, and judgements of earlier versions."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from db.engine.connection import Database
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import app, main
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.rollouts.judged_rows import build_judged_rows
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import command, rows_of
from tests.stored_rows import run_embedded
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES
from tests.tool_judges import AGAIN, ANSWER, PAIR, TASK, find_answers, kind_of, label
from tests.tool_scripts import call, finish, give_up

NEVER, REFUSED = 4, 5  #: parcels about which the agent never decides, and for which its server fails


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    return tmp_path


def run_agent(folder: Path, answers: dict[int, str], calls: int = 1) -> tuple[Database, str]:
    """Runs on five parcels with so many calls each; gives up where there is no answer."""

    def reply(prompt: str) -> str | None:
        numbers = re.findall(r"Where is parcel P(\d+)", prompt)
        number = int(numbers[-1]) if numbers else REFUSED
        if number == REFUSED:
            return None
        if number == NEVER:
            return "Thought: what now?"
        if prompt.count("Observation") < calls:
            return call(LATEST_NAME, parcelid=f"P{number}")
        return finish(answers[number]) if number in answers else give_up()

    inputs = {"functions": [LATEST, OFFICES]}
    tasks = [
        Task("toolbench", "", str(number), f"Where is parcel P{number}?", inputs, {"relevant": []})
        for number in range(1, 6)
    ]
    rows = rows_of(open_benchmark("toolbench"), tasks, "I1-inst")
    with FakeEndpoint(reply) as server:
        agent = Agent({"policy": server.tgi}, "tools", tools={"answers": "synthetic"}, limits=Limits(depth=7))
        agent = replace(agent, samplings={"policy": Sampling(max_tokens=1024, stop=("\nObservation:",))})
        return run_embedded(folder, Evaluate(Infer("toolbench", rows.digest, rows.split, "react", agent)), rows)


def judge(prompt: str) -> str | None:
    """Answers that name a town solve; the request about P3 cannot be solved; a town with an `O` is better."""
    if "Request: " not in prompt:
        return None
    kind = kind_of(prompt)
    if kind == ANSWER:
        (answer,) = find_answers(prompt)
        return label("Unsolved" if "Sorry" in answer else "Unsure" if "Vell" in answer else "Solved")
    if kind == PAIR:
        first, second = ("Ombry" in answer for answer in find_answers(prompt))
        return label("Tie" if first == second else "First" if first else "Second")
    return label({AGAIN: "Unsure", TASK: "Unsolvable" if "P3?" in prompt else "Solvable"}[kind])


def judge_again(capsys, job: str, *options: str) -> tuple[dict, int]:
    """The report, and how often the judge was asked."""
    with FakeEndpoint(judge) as server:
        code, report = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}", *options)
        assert code == 0
        return report, server.count


def judge_before(database: Database, folder: Path, job: str, against: str) -> str:
    """Judge as version 3 did. Return the judge's job."""
    with database.engine.connect() as connection:
        rows = build_judged_rows(database, get_job(connection, job), get_job(connection, against)).rows
    with FakeEndpoint(judge) as server:
        agent = Agent({"judge": server.tgi}, "tools", samplings={"judge": Sampling(0.2, stop=())})
        infer = Infer(rows.benchmark.name, rows.digest, rows.split, "tooleval", agent, formulation_version=3)
        _, identifier = run_embedded(folder, Evaluate(infer), rows)
    return identifier


def values(report: dict, rule: str) -> dict[str, float]:
    return {name: figure["value"] for name, figure in report["rules"][rule].items()}


TOWNS, OTHER_TOWNS = {1: "It is in Ombry.", 2: "Sorry, nothing was found."}, {1: "It is in Vell.", 3: "It is in Ombry."}


def test_both_rules_are_in_the_report(home, capsys):
    """ToolEval's wins: 1 by status, 2 by coins, 3 none (solved beats a refusal), 4 by coins, 5 as both are missing."""
    database, own = run_agent(home, TOWNS)
    _, other = run_agent(home, OTHER_TOWNS)
    database.close()
    report, questions = judge_again(capsys, own, "--against", other)
    assert values(report, "tooleval") == {"tooleval_pass": 0.4, "win": 0.6, "won": 0.6, "tied": 0}
    assert values(report, "ours") == {"tooleval_pass": 0.4, "win": 0.5, "won": 0.2, "tied": 0.6}
    for rule in report["rules"].values():
        assert all(one["of"] == 5 and one["ci95"][0] < one["ci95"][1] and "bounds" not in one for one in rule.values())
    assert {name: report["rules"]["ours"][name] for name in ("tooleval_pass", "win")} == {
        name: report["metrics"][name] for name in ("tooleval_pass", "win")
    }
    assert questions == report["calls"] == 42 and report["complete"] and report["formulation_version"] >= 4
    assert main(["report", report["job"]]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "tooleval pass, rule=tooleval 40.0 % [" in text and "tooleval pass, rule=ours 40.0 % [" in text
    assert "win, rule=tooleval 60.0 % [" in text and "win, rule=ours 50.0 % [" in text
    assert (
        "tied, rule=ours 60.0 % [" in text
        and not re.search(r"(tooleval pass|win) \d", text)
        and "lack votes" not in text
    )


def test_unsure_and_even_votes_pass_more_often_by_toolevals_rule(home, capsys):
    database, job = run_agent(home, OTHER_TOWNS)
    database.close()
    report, _ = judge_again(capsys, job, "--votes", "2")
    assert values(report, "tooleval") == {"tooleval_pass": 0.35}, "of two coins three sides of four pass"
    assert values(report, "ours") == {"tooleval_pass": 0.3}


def test_pages_show_both_rules(home, capsys):
    database, job = run_agent(home, OTHER_TOWNS)
    database.close()
    report, _ = judge_again(capsys, job, "--votes", "2")
    assert main(["report", report["job"], "--html", str(home / "page.html")]) == 0
    page = (home / "page.html").read_text()
    assert "rule=tooleval" in page and "rule=ours" in page and "35.0 % [" in page


def test_earlier_judgements_are_reported_as_far_as_their_votes_allow(home, capsys):
    """With equal answers version 3 asked nothing. ToolEval's rule compares such runs if their calls differ."""
    answers = {1: "It is in Ombry.", 2: "It is in Ombry."}
    database, own = run_agent(home, answers)
    _, other = run_agent(home, answers, calls=2)
    before = judge_before(database, home, own, other)
    code, report = command(app, capsys, "report", before)
    assert code == 0 and report["formulation_version"] == 3 and report["complete"]
    assert values(report, "ours") == {"tooleval_pass": 0.6, "win": 0.5, "won": 0, "tied": 1}
    figures = report["rules"]["tooleval"]
    assert figures.pop("lacking") == 3, "two answers, and P3, about which both gave up"
    assert figures["tooleval_pass"]["value"] == 0.6 and "bounds" not in figures["tooleval_pass"]
    assert figures["win"]["bounds"] == [0.3, 0.9] and figures["win"]["of"] == 5
    assert main(["report", before]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"{before}: 3 of 5 runs lack votes by which rule=tooleval compares them." in text
    assert "win, rule=tooleval incomplete: 30.0 to 90.0 %" in text
    again, questions = judge_again(capsys, own, "--against", other)
    assert "lacking" not in again["rules"]["tooleval"] and again["rules"]["ours"] == report["rules"]["ours"]
    assert questions == report["calls"] + 3 * 3, "one question for each round of the three"
    database.close()
