"""Limits and samplings of an agent, in whole jobs: the episode ends there, and each role is sampled as it was said."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from db.models import CompletionRow, EpisodeRow
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.submission.store import read_rows
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.stored_rows import run_embedded


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


def evaluate(rows, server: FakeEndpoint, **parts) -> Evaluate:
    agent = Agent({"planner": server.tgi, "grounder": server.tgi}, "maths", **parts)
    return Evaluate(Infer("wordmath", rows.digest, "test", "iterative", agent, limit=2))


def test_an_episode_of_a_job_ends_at_the_agents_limit(tmp_path, rows):
    with FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks[:2], "iterative"))) as server:
        database, job = run_embedded(tmp_path, evaluate(rows, server, limits=Limits(calls=2)), rows)
        assert server.count == 4
    with database.engine.connect() as connection:
        found = connection.execute(
            select(EpisodeRow.ending, EpisodeRow.message, EpisodeRow.calls).where(EpisodeRow.job == job)
        ).all()
        assert connection.execute(select(CompletionRow.parent).distinct()).scalars().all() == [None]
    assert [tuple(row) for row in found] == [("limit", "the limit of 2 model calls is reached", 2)] * 2
    database.close()


def test_each_role_of_a_job_is_sampled_as_it_was_said(tmp_path, rows):
    replies = from_mapping(gold_replies(rows.benchmark, rows.tasks[:2], "iterative"))
    warm = {"grounder": Sampling(temperature=0.5, max_tokens=64)}
    with FakeEndpoint(replies, keep_bodies=True) as server:
        database, _ = run_embedded(tmp_path, evaluate(rows, server, samplings=warm), rows)
    asked = {(body["parameters"].get("temperature"), body["parameters"]["max_new_tokens"]) for body in server.bodies}
    assert asked == {(None, 512), (0.5, 64)}
    with database.engine.connect() as connection:
        roles = connection.execute(select(CompletionRow.role)).scalars().all()
    warm_ones = sum("temperature" in body["parameters"] for body in server.bodies)
    assert warm_ones == roles.count("grounder") > 0
    database.close()
