"""`--concurrency N`: stored with the job, kept by its worker, and no part of what the job computes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.fake_endpoint import FakeEndpoint
from tests.services import wait_until


def evaluate(lumos, server, *options: str):
    return lumos(
        "evaluate", "wordmath", "--formulation", "direct", "--solver", server.tgi, "--limit", "30", "--json", *options
    )


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_job_has_so_many_requests_in_flight_in_one_process(lumos, concurrency):
    with FakeEndpoint(lambda prompt: "7", latency=0.03) as server:
        done = evaluate(lumos, server, "--concurrency", str(concurrency))
        assert done.code == 0 and server.most_busy == concurrency
        job = json.loads(done.out)["job"]
        assert json.loads(lumos("job", job, "--json").out)["concurrency"] == concurrency


def test_the_same_request_with_another_concurrency_is_the_same_job(lumos):
    with FakeEndpoint(lambda prompt: "7") as server:
        evaluate(lumos, server, "--concurrency", "2")
        calls = server.count
        again = evaluate(lumos, server, "--concurrency", "4")
        assert "is the same request" in again.err and server.count == calls


def test_without_the_option_the_setting_counts(lumos):
    lumos.set(LUMOS_CONCURRENCY="2")
    with FakeEndpoint(lambda prompt: "7", latency=0.03) as server:
        evaluate(lumos, server)
        assert server.most_busy == 2


def test_it_may_be_more_than_the_setting(lumos):
    lumos.set(LUMOS_CONCURRENCY="2")
    with FakeEndpoint(lambda prompt: "7", latency=0.03) as server:
        evaluate(lumos, server, "--concurrency", "6")
        assert server.most_busy == 6


def test_a_number_out_of_range_is_one_line(lumos):
    done = lumos("evaluate", "wordmath", "--concurrency", "-1")
    assert done.code == 2 and "--concurrency" in done.err


def test_the_list_of_jobs_shows_what_is_in_flight(lumos):
    with FakeEndpoint(lambda prompt: "7", latency=3.0) as server:
        started = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "lumos_queue.cli.main",
                "evaluate",
                "wordmath",
                "--formulation",
                "direct",
                "--solver",
                server.tgi,
                "--limit",
                "8",
                "--concurrency",
                "2",
            ],
            env={**os.environ, "LUMOS_HOME": str(lumos.home), "LUMOS_HEARTBEAT_SECONDS": "0.3"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            line = re.compile(rf"{server.tgi}: 2 in flight, the oldest for \d s, window 2, \d+ replies a minute")
            wait_until(lambda: line.search(lumos("jobs").err), "the list shows the requests in flight")
        finally:
            started.terminate()
            started.wait(30)
