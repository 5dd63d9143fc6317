"""Jobs whose server is still loading its model: the command that submits waits, and so does a job that runs."""

from __future__ import annotations

import os
import signal

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.submission import readiness
from lumos_queue.submission.store import read_rows
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.integration.test_statuses import Run, known
from tests.services import wait_until

LOADING = "is not ready: its model is loading (GET /"


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


@pytest.fixture
def soon(monkeypatch):
    """Waits of seconds take parts of a second."""
    monkeypatch.setattr(readiness, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.3)
    monkeypatch.setattr("workers.run.WAIT_SECONDS", 0.2)


def at_question(server: FakeEndpoint, number: int, act) -> None:
    """Call `act` when the server is asked about itself that often."""
    asked: list[str] = []
    answer = server.about

    def about(path: str) -> tuple[int, object]:
        asked.append(path)
        if len(asked) == number:
            act()
        return answer(path)

    server.about = about


def evaluate(lumos, server: FakeEndpoint, *options: str):
    return lumos("evaluate", "wordmath", "--limit", 2, "--formulation", "direct", "--solver", server.chat, *options)


def test_evaluate_waits_until_the_model_is_loaded(lumos, soon):
    with FakeEndpoint(lambda prompt: "The answer is 5.", loading=True) as server:
        at_question(server, 20, lambda: setattr(server, "loading", False))
        result = evaluate(lumos, server, "--json")
        assert result.json["state"] == "done"
        assert [line for line in result.err.splitlines() if line.startswith("waits: ")] == [
            f"waits: http://127.0.0.1:{server.port} {LOADING}health answered 503)"
        ]
        assert server.count == 2


def test_evaluate_gives_up_in_one_line(lumos, soon, monkeypatch):
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 0.05)
    with FakeEndpoint(lambda prompt: "The answer is 5.", loading=True) as server:
        result = evaluate(lumos, server)
        assert result.code == 2 and server.count == 0
    waits, message = result.err.splitlines()[-2:]
    assert waits.startswith("waits: ") and LOADING in message and message.endswith("submit again when it is ready.")


def test_ctrl_c_ends_the_wait(lumos, soon):
    with FakeEndpoint(lambda prompt: "The answer is 5.", loading=True) as server:
        at_question(server, 10, lambda: os.kill(os.getpid(), signal.SIGINT))
        result = evaluate(lumos, server)
        assert result.code == 130
        (line,) = result.err.splitlines()
        assert line.startswith("waits: ")
        assert server.count == 0


def test_extend_waits_with_a_line(lumos, soon):
    with FakeEndpoint(lambda prompt: "The answer is 5.") as server:
        job = evaluate(lumos, server, "--json").json["job"]
        server.loading = True
        at_question(server, 20, lambda: setattr(server, "loading", False))
        result = lumos("extend", job, "--limit", 3)
        assert result.code == 0, result.err
        assert sum(line.startswith("waits: ") for line in result.err.splitlines()) == 1
        assert server.count == 3


@pytest.mark.parametrize("scheme", ["openai", "tgi"])
def test_a_job_waits_for_a_model_that_is_loaded_again_and_goes_on(tmp_path, rows, soon, scheme):
    with FakeEndpoint(from_mapping(known(rows, 100)), latency=0.05) as server:
        run = Run(tmp_path, rows, getattr(server, scheme), 100, request_retries=0)
        with run.going_on():
            wait_until(lambda: run.done() > 10, "the job is under way")
            server.loading = True
            wait_until(lambda: LOADING in run.ask("SELECT waiting FROM job")[0][0], "the job says what it waits for")
            assert run.process.outage and run.process.outage.status == 503
            server.loading = False
            run.wait_for_end()
        assert run.ask("SELECT ending, count(*) FROM episode GROUP BY ending") == [("answered", 100)]
        assert run.ask("SELECT sum(failures), max(problem) FROM item") == [(0, "")]
