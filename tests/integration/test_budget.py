"""The budget of an evaluation: it pauses the job, and a larger one lets it continue without repeating a call."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import select

from db.engine.connection import open_database
from db.models import CompletionRow, JobRow
from db.queue.budget import cost_of_job
from lumos_queue.settings import Settings
from lumos_queue.util.wording import format_price
from tests.fake_endpoint import FakeEndpoint


@pytest.fixture
def server():
    with FakeEndpoint(lambda prompt: "three words here", latency=0.02) as endpoint:
        yield endpoint


def evaluate(lumos, server, *options):
    return lumos("evaluate", "wordmath", "--formulation", "direct", "--solver", server.tgi, "--limit", "30", *options)


def test_a_budget_pauses_an_evaluation_and_a_larger_one_continues_it(lumos, server):
    lumos.set(LUMOS_CONCURRENCY=2)
    price = ("--price-completion", "1000")  # the server counts three tokens for a reply: 0.003 USD
    evaluate(lumos, server, "--budget", "0.03", *price)
    database = open_database(Settings(home=lumos.home).database)
    with database.engine.connect() as connection:
        job = connection.execute(select(JobRow)).one()
        cost = cost_of_job(connection, job.id, 0.0, 1000.0)
        calls = len(connection.execute(select(CompletionRow.episode)).all())
    assert job.state == "paused" and 0.03 <= cost <= 0.03 + 2 * 0.003
    assert job.waiting == f"{format_price(cost)} of $0.0300 are spent. Raise it with: lumos budget {job.id} USD"
    assert calls == server.count < 30
    assert lumos("budget", job.id, "0").code == 0
    report = lumos("resume", job.id, "--json").json
    assert report["state"] == "done" and server.count == 30
    assert report["cost"] == {"usd": pytest.approx(0.09), "budget": 0.0, "prices": [0.0, 1000.0]}
    assert re.search(r"^price +\$0\.0900$", lumos("report", job.id).out, re.M)
    database.close()


def test_a_budget_without_a_price_is_refused(lumos, server):
    refused = evaluate(lumos, server, "--budget", "1")
    assert refused.code == 2 and "--budget needs prices in USD per million tokens" in refused.err
    assert server.count == 0
