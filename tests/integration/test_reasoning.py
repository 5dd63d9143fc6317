"""Models that think, from the server to the report: scripted solvers and judges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from db.engine.connection import Database
from db.engine.migrate import downgrade, upgrade
from db.models import CompletionRow, EpisodeRow, ScoreRow
from db.queries.empty_replies import EmptyReplies, count_empty_replies
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import rows_of
from tests.stored_rows import run_embedded

THOUGHT = "hm " * 200  #: more words than the limit of tokens


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch) -> str:
    found = "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setenv("LUMOS_DATABASE_URL", found)
    return found


def evaluate(folder: Path, url: str, solver, judge=None, many: int = 4) -> tuple[Database, str]:
    """A job of HotpotQA rows whose gold answers are Oslo, answered by the models; row N asks `What is N?`."""
    benchmark = open_benchmark("hotpotqa")
    gold = {"answer": "Oslo", "supporting": []}
    tasks = [Task("hotpotqa", "", str(n), f"What is {n}?", {"paragraphs": []}, gold) for n in range(1, many + 1)]
    rows = rows_of(benchmark, tasks, "dev")
    with FakeEndpoint(solver) as one, FakeEndpoint(judge or solver) as other:
        roles = {"solver": one.chat} | ({"judge": other.openai} if judge else {})
        agent = Agent(roles, "complex_qa", sampling=Sampling(max_tokens=100))
        return run_embedded(folder, Evaluate(Infer("hotpotqa", rows.digest, "dev", "direct", agent)), rows, url)


def scripted(*replies: str):
    """Replies to the questions about the rows, in their order."""
    return lambda prompt: next(reply for n, reply in enumerate(replies, 1) if f"What is {n}?" in prompt)


def report_of(database: Database, job: str) -> dict:
    with database.engine.connect() as connection:
        return as_json(make_report(connection, get_job(connection, job)))


def completions(database: Database, role: str) -> list:
    found = select(CompletionRow.__table__).where(CompletionRow.role == role).order_by(CompletionRow.episode)
    with database.engine.connect() as connection:
        return list(connection.execute(found))


def test_what_a_solver_thinks_is_stored_and_not_its_answer(tmp_path, url, lumos):
    whole = "<think>\nBergen?\nNo.</think>\nOslo"
    database, job = evaluate(tmp_path, url, scripted(whole, "Bergen?</think>Oslo", f"<think>{THOUGHT}", "Oslo"))
    rows = completions(database, "solver")
    assert [(row.reply, row.reasoning, row.finish_reason) for row in rows] == [
        ("Oslo", "Bergen?\nNo.", "stop"),
        ("Oslo", "Bergen?", "stop"),
        ("", ("hm " * 100)[:-1], "length"),
        ("Oslo", None, "stop"),
    ]
    assert json.loads(rows[0].message) == {"role": "assistant", "content": whole} and rows[3].message is None
    report = report_of(database, job)
    assert report["metrics"]["exact_match"]["value"] == 0.75
    problem = {"ending": "", "message": "all tokens of the reply of the solver were reasoning; raise --max-tokens"}
    assert report["problems"][0] == problem | {"episodes": 1, "replies": 1}
    database.close()
    lumos.set(LUMOS_HOME=tmp_path)
    shown = lumos("report", job).out
    assert f"{job}: 1 episode: {problem['message']}" in " ".join(shown.split())


def test_a_judge_that_never_stops_thinking_gives_no_vote(tmp_path, url):
    judge = scripted("<think>yes</think>CORRECT", "no</think>INCORRECT", f"<think>{THOUGHT}", "<think>what else?")
    database, job = evaluate(tmp_path, url, lambda prompt: "Oslo", judge)
    votes = select(EpisodeRow.id, ScoreRow.value).join(ScoreRow, ScoreRow.episode == EpisodeRow.id)
    with database.engine.connect() as connection:
        found = connection.execute(votes.where(ScoreRow.metric == "llm_accuracy").order_by(EpisodeRow.id)).all()
        assert [value for _, value in found] == [1, 0]
        assert count_empty_replies(connection, job) == [
            EmptyReplies("judge", False, 1, 1),
            EmptyReplies("judge", True, 1, 1),
        ]
        assert not count_empty_replies(connection, "another job")
    report = report_of(database, job)
    assert report["complete"] and report["metrics"]["llm_accuracy"] | {"ci95": 0} == {"value": 0.5, "ci95": 0, "of": 2}
    assert {one["message"] for one in report["problems"]} == {
        "all tokens of the reply of the judge were reasoning: no vote is stored; raise --request judge.max_tokens=N",
        "the reply of the judge ended within its reasoning: no vote is stored",
    }
    database.close()


def test_the_index_of_empty_replies_can_be_taken_back(database):
    downgrade(database, "0020")
    upgrade(database)
    with database.engine.connect() as connection:
        assert not count_empty_replies(connection, "none")
