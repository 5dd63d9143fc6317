"""Calls of tools outside are recorded, and replayed by later jobs: whole jobs, both databases, a fake web."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.journal.tool_calls import find_recorded_call
from db.models import EpisodeRow, ExecutionRow, ToolCallRow
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Call
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.execution.tools import registry
from lumos_queue.execution.tools.callers import open_caller
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.execution.tools.replay import open_replay
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows
from tests.fake_web import FakeWeb
from tests.stored_rows import run_embedded

ASKED = {  # question to what its one action looks up
    "Who opened the bridge?": "Quillon Bridge",
    "Which river is it?": "Quillon Bridge",
    "What is Vell?": "Vell",
    "Who is nobody?": "zzz qqq",
    "What does a long page say?": "Long",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def request_of(tmp_path, monkeypatch):
    """Makes the job, with its rows; its actions look things up."""
    domain = replace(DOMAINS.load("complex_qa"), interface="tests.lookup_actions:LookUpActions")
    monkeypatch.setattr(DOMAINS, "_objects", {"complex_qa": domain})
    rules = [{"contains": "subgoal-based plan", "reply": "Subgoal 1: Look it up."}] + [
        {"contains": f"Task: {question}", "reply": f"R1 = KnowledgeQuery({title})"} for question, title in ASKED.items()
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    roles = dict.fromkeys(("planner", "grounder"), f"scripted:{tmp_path / 'rules.json'}")
    agent = Agent(roles, "complex_qa")

    def make(questions=tuple(ASKED), **options) -> tuple[Infer, Rows]:
        digest = f"digest of {len(questions)}"
        tasks = tuple(Task("musique", digest, str(row), question) for row, question in enumerate(questions, 1))
        rows = Rows(open_benchmark("musique"), "dev", digest, tasks, ())
        return Infer("musique", digest, "dev", "one-pass", agent, **options), rows

    return make


def serve(web: FakeWeb, monkeypatch) -> None:
    """Calls that are made reach the fake web alone."""
    web.pages["Long"] = "".join(f"<p>Paragraph {n} of a long page: {'many words ' * 40}.</p>" for n in range(60))

    def open_live(settings, server):
        client = GuardedHttp(
            Guard({("127.0.0.1", web.port)}), registry.user_agent(settings), rate_limiter=HostRateLimiter(0)
        )
        return registry.call_through(client, web.api)

    monkeypatch.setattr(registry, "open_live", open_live)


_OBSERVED = ("position", "branch", "command", "status", "result", "result_block", "outputs", "outputs_block", "message")


def observed(database: Database, job: str) -> list[tuple]:
    """What the models of a job were shown, and what its calls gave, byte for byte."""
    with database.engine.connect() as connection:
        rows = []
        for table in (ExecutionRow, ToolCallRow):
            found = connection.execute(
                select(
                    EpisodeRow.task, EpisodeRow.ending, EpisodeRow.answer, *(getattr(table, name) for name in _OBSERVED)
                )
                .join(EpisodeRow, EpisodeRow.id == table.episode)
                .where(EpisodeRow.job == job)
                .order_by(EpisodeRow.task, table.position, table.branch)
            )
            rows += [json.dumps(list(row), default=bytes.hex) for row in found]
        return rows


def run(folder: Path, url: str, request: tuple[Infer, Rows]) -> tuple[Database, str]:
    return run_embedded(folder, *request, url=url, concurrency=4)


def test_a_job_reruns_offline_with_the_same_observations(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, live = run(tmp_path, url, request_of(live=True))
        asked = web.count
    assert asked > 0
    seen = observed(database, live)
    assert len(seen) == 2 * len(ASKED)
    assert sum(json.loads(row)[10] is not None for row in seen) == 2, "the long page lies in text_block"

    with FakeWeb() as web:
        serve(web, monkeypatch)
        _, replayed = run(tmp_path, url, request_of(replay=live))
        _, again = run(tmp_path, url, request_of(replay=replayed))
        assert web.count == 0
    assert replayed != live and observed(database, replayed) == seen
    assert observed(database, again) == seen
    statuses = [json.loads(row)[6] for row in seen]
    assert sorted(statuses) == ["not_found"] * 2 + ["ok"] * 8
    database.close()


def test_a_call_that_two_episodes_make_is_made_once(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, _ = run(tmp_path, url, request_of(tuple(ASKED)[:2], live=True))
        assert web.count == 2
    with database.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(ToolCallRow)) == 2, "and recorded for both"
    database.close()


def test_what_was_not_recorded_is_said_and_nothing_is_asked(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, live = run(tmp_path, url, request_of(tuple(ASKED)[:1], live=True))
        asked = web.count
        _, other = run(tmp_path, url, request_of(tuple(ASKED)[1:3], replay=live))
        _, chained = run(tmp_path, url, request_of(tuple(ASKED)[1:3], replay=other))
        assert web.count == asked
    for job in (other, chained):
        assert {json.loads(row)[1] for row in observed(database, job)} == {"answered", "action_error"}
    with database.engine.connect() as connection:
        messages = connection.execute(
            select(ToolCallRow.message, EpisodeRow.job)
            .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
            .where(ToolCallRow.status == "not_recorded")
        ).all()
    assert {(job, message) for message, job in messages} == {
        (
            job,
            f'job {source} has recorded no call wikipedia(query="Vell"): make it in a job with --live, and replay that',
        )
        for job, source in ((other, live), (chained, other))
    }
    database.close()


def test_without_live_or_replay_nothing_is_asked_and_the_episode_says_so(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, job = run(tmp_path, url, request_of(tuple(ASKED)[:1]))
        assert web.count == 0
    with database.engine.connect() as connection:
        episode = connection.execute(select(EpisodeRow.__table__).where(EpisodeRow.job == job)).one()
    assert episode.ending == "action_error"
    assert 'wikipedia(query="Quillon Bridge") needs the network: ask for it with --live, or replay' in episode.message
    database.close()


def test_a_wiki_that_is_busy_is_asked_again_and_the_call_is_recorded_once(tmp_path, request_of, monkeypatch):
    with FakeWeb(["503:0"]) as web:
        serve(web, monkeypatch)
        database, _ = run(tmp_path, "", request_of(tuple(ASKED)[:1], live=True))
        assert web.count == 3
    with database.engine.connect() as connection:
        [row] = connection.execute(select(ToolCallRow.__table__)).all()
    assert (row.status, row.tool, row.arguments) == ("ok", "wikipedia", {"query": "Quillon Bridge"})
    database.close()


def test_a_job_that_does_not_exist_cannot_be_replayed(tmp_path):
    settings = Settings(home=tmp_path)
    opened = open_database(settings.database)
    upgrade(opened)
    opened.close()
    with pytest.raises(SpecError, match="No job has an id that starts with 'nosuchjob'"):
        open_caller(False, "nosuchjob", Deployment(settings))


def test_equal_calls_of_an_episode_are_replayed_each_with_its_own_answer(tmp_path, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, job = run(tmp_path, "", request_of(tuple(ASKED)[:2], live=True))
    kept = "episode, attempt, position, command, tool, arguments, status, outputs, message, seconds"
    with database.writer.begin() as connection:
        again = f"INSERT INTO tool_call ({kept}, branch, result) SELECT {kept}, branch + 1, 'again' FROM tool_call"
        connection.execute(text(f"{again} WHERE episode = (SELECT min(episode) FROM tool_call)"))

    async def ask() -> list[str]:
        caller = open_replay(job, database)
        calls = [Call("wikipedia", {"query": "Quillon Bridge"}, nth) for nth in (1, 0, 2)]
        found = [(await caller.call(one, "key")).result for one in calls]
        return found

    assert asyncio.run(ask()) == ["again", "Quillon Bridge", "again"]
    database.close()


def test_a_recorded_call_is_found_by_an_index_and_the_earliest_counts(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, job = run(tmp_path, url, request_of(tuple(ASKED)[:2], live=True))
    command = Call("wikipedia", {"query": "Quillon Bridge"}).digest
    with database.writer.begin() as connection:
        last = connection.scalar(select(func.max(ToolCallRow.episode)))
        connection.execute(text("UPDATE tool_call SET status = 'later' WHERE episode = :last"), {"last": last})
    with database.engine.connect() as connection:
        found = find_recorded_call(connection, job, command)
        assert found is not None and found.status == "ok" and found.values[0]["pages"][0]["title"] == "Quillon Bridge"
        assert find_recorded_call(connection, "other", command) is None
        assert find_recorded_call(connection, job, Call("wikipedia", {"query": "Ombry"}).digest) is None
        later = find_recorded_call(connection, job, command, ("ok",))
        assert later is not None and replace(later, status="ok", seconds=0.0) == replace(found, seconds=0.0)
        if database.is_sqlite:
            plan = connection.execute(text("EXPLAIN QUERY PLAN SELECT * FROM tool_call WHERE command = 'x'")).all()
            assert "tool_call_command_index" in str(plan)
    database.close()


def test_an_abandoned_attempt_answers_only_where_no_accepted_one_does(tmp_path, url, request_of, monkeypatch):
    with FakeWeb() as web:
        serve(web, monkeypatch)
        database, job = run(tmp_path, url, request_of(tuple(ASKED)[:2], live=True))
    kept = "episode, position, branch, command, tool, arguments, status, outputs, message, seconds"
    equal = Call("wikipedia", {"query": "Quillon Bridge"}).digest

    def answers() -> list[str]:
        with database.engine.connect() as connection:
            found = [find_recorded_call(connection, job, equal, (), nth) for nth in (0, 1)]
            return [one.result for one in found if one is not None]

    with database.writer.begin() as connection:
        first = {"first": connection.scalar(select(func.min(ToolCallRow.episode)))}
        accepted = f"INSERT INTO tool_call ({kept}, attempt, result) SELECT {kept}, 2, 'accepted' FROM tool_call"
        connection.execute(text(f"{accepted} WHERE episode = :first"), first)
        again = f"INSERT INTO tool_call ({kept}, attempt, result) SELECT {kept.replace('branch', 'branch + 1')}, 2"
        connection.execute(text(f"{again}, 'the second' FROM tool_call WHERE episode = :first AND attempt = 1"), first)
        connection.execute(text("UPDATE episode SET attempt = 2 WHERE id = :first"), first)
    assert answers() == ["accepted", "the second"]

    with database.writer.begin() as connection:  # now the accepted attempt of the other episode made it alone
        connection.execute(text("UPDATE tool_call SET command = 'x' WHERE attempt = 2"))
        connection.execute(text("UPDATE tool_call SET result = 'other episode' WHERE episode <> :first"), first)
    assert answers() == ["other episode"] * 2

    with database.writer.begin() as connection:  # of no episode is an attempt accepted yet
        connection.execute(text("UPDATE episode SET ending = ''"))
    assert answers() == ["Quillon Bridge"] * 2
    database.close()
