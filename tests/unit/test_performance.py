"""The performance harness: equal work for all, right arithmetic. Nothing here is timed."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from performance import profile
from performance.collect import choose_goals, ratio
from performance.contender import Measurement, Spec
from performance.episode import prompts, request
from performance.full_database import Stock, perform
from performance.goals import RATIOS, Goal
from performance.jobs import rows_of
from performance.processes import pss, tree_cpu
from performance.questions import questions
from performance.runs import CONTENDERS, Pair, last_line, order
from performance.scenarios import best_schedule
from performance.server import answer, ask, start_server
from performance.statistics import estimate


def said(path: bytes, body: object) -> dict:
    return json.loads(answer(path, json.dumps(body).encode()).partition(b"\r\n\r\n")[2])


def bare_prompts(text: str) -> tuple[list[str], str]:
    """All prompts of an episode as the bare loop sends them, and its answer."""
    asked, episode = [], prompts(text, [])
    prompt = next(episode)
    try:
        while True:
            asked.append(prompt)
            prompt = episode.send(said(b"/generate", request(prompt))["generated_text"])
    except StopIteration as stop:
        return asked, stop.value


def test_everybody_sends_the_same_prompts_and_gets_the_right_answer(tmp_path):
    work = questions(1, 40)
    assert {question.calls for question in work} == {5, 7, 9, 11, 13, 15}
    rows = rows_of(work, tmp_path / "rows.jsonl")
    for question, task in zip(work, rows.tasks, strict=True):
        journal = MemoryJournal()
        outcome = asyncio.run(run_episode(iterative, task, Agent({}, "maths"), journal, perform(task))).outcome
        ours = [step.command.prompt for step in journal.steps if isinstance(step.command, Ask)]
        bare, answered = bare_prompts(question.text)
        assert bare == ours and len(bare) == question.calls
        assert answered == outcome.answer == question.answer
        assert open_benchmark("gsm8k").score(task, EpisodeResult(outcome.answer))[0].value == 1.0


def test_the_bare_request_is_the_one_this_project_sends():
    bodies = []

    class Recorder(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            reply = b'{"generated_text": "x", "details": {"finish_reason": "eos_token", "generated_tokens": 1}}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format, *args):
            pass

    async def send(url: str) -> None:
        endpoint = open_endpoint(url, Settings())
        await endpoint.generate(ModelCall("a prompt", Sampling(), 1))
        await endpoint.close()

    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(send(f"tgi://127.0.0.1:{server.server_port}"))
        server.shutdown()
    assert bodies == [("/generate", request("a prompt"))]


def test_the_chat_protocol_says_the_same():
    question = questions(7, 1)[0]
    (first, *_), _ = bare_prompts(question.text)
    user = {"role": "user", "content": first}
    chat = said(b"/v1/chat/completions", {"messages": [user]})["choices"][0]["message"]["content"]
    assert chat == said(b"/v1/completions", {"prompt": first})["choices"][0]["text"]
    assert chat == said(b"/generate", {"inputs": first})["generated_text"]


@pytest.mark.parametrize(
    ("calls", "slots", "seconds"), [([5, 5], 1, 10.0), ([5, 5], 2, 5.0), ([3, 1, 1, 1], 2, 3.0), ([1, 1, 3], 2, 4.0)]
)
def test_list_scheduling(calls, slots, seconds):
    assert best_schedule(calls, slots, 1.0) == seconds


def test_the_interval_covers_the_median_without_assuming_a_distribution():
    five = estimate([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (five.median, five.low, five.high, five.confidence) == (3.0, 1.0, 5.0, 0.9375)
    eight = estimate([float(value) for value in range(8)])
    assert (eight.low, eight.high) == (1.0, 6.0) and eight.confidence > 0.9
    assert estimate([1.0, 2.0]).confidence == 0.5


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([1.0] * 5, "met"), ([1.4] * 5, "missed"), ([1.2, 1.4, 1.4, 1.4, 1.4], "undecided"), ([1.0] * 2, "too few")],
)
def test_a_goal_is_missed_only_when_the_whole_interval_is_beyond_it(values, verdict):
    assert Goal("x", "", 1.3).verdict(estimate(values)) == verdict


def test_a_goal_without_a_measurement_was_not_run():
    assert Goal("x", "", 1.3).verdict(None) == "not run"


def test_every_run_has_a_ref_beside_it_and_rounds_turn_round():
    names = ["embedded", "ref", "threads", "workers-2"]
    assert order(names, False) == [["workers-2", "ref", "embedded"], ["threads", "ref"]]
    assert order(names, True) == [["threads", "ref", "embedded"], ["workers-2", "ref"]]
    assert {goal.contender for goal in RATIOS} <= set(CONTENDERS)


def test_ratios_are_taken_within_a_round():
    def measured(cpu: float) -> Measurement:
        return Measurement(1000, 1000, 100, 100, cpu, 0.0, 1.0, 0.0, 0.9)

    goals = {goal.key: goal for goal in RATIOS}
    done = {"workers-2": Pair(measured(0.4), measured(0.2)), "threads": Pair(measured(0.8), measured(0.25))}
    assert ratio(goals["cpu-workers-B"], done) == pytest.approx(2.0)
    assert ratio(goals["cpu-peer-B"], done) == pytest.approx(0.5)
    assert ratio(goals["calls-workers"], done) == 1.0
    assert ratio(goals["cpu-embedded-B"], done) is None


def test_choosing_goals():
    assert {goal.key for goal in choose_goals(["flush"])} == {"flush-p50", "flush-p99"}
    with pytest.raises(ValueError, match="no goal begins with 'nonsense'"):
        choose_goals(["nonsense"])


@pytest.mark.parametrize("contender", ["ref", "embedded_run"])
def test_a_contender_does_the_whole_work(contender, tmp_path):
    with start_server(0.0, 8) as url:
        spec = Spec(url, str(tmp_path), 0.0, 8, 8, 24)
        measured = Measurement(**last_line(contender, dataclasses.asdict(spec)))
        assert ask(url, "/stats")["calls"] == measured.calls
    assert measured.right == measured.episodes == 24
    assert measured.calls == measured.needed == sum(question.calls for question in spec.work())
    assert measured.cpu > 0 and measured.seconds > 0


def test_claims_among_copied_items(tmp_path):
    stock = Stock(tmp_path / "stock", "", item_count=9)
    try:
        stock.fill(500)
        items = stock.claim(8)
        assert [item.ordinal for item in items] == list(range(1, 9))
        batches = stock.record(items, 20)
        assert sum(len(batch.finished) for batch in batches) == 8 and len(batches) > 1
        assert all(done.scores[0].value == 1.0 for batch in batches for done in batch.finished)
    finally:
        stock.close()


def test_the_profile_sorts_stacks_by_the_innermost_known_frame():
    raw = "\n".join(
        (
            "run (asyncio/runners.py);post (/x/site-packages/aiohttp/client.py);"
            "f (/x/lib/python3.11/json/encoder.py) 3",
            "run (asyncio/runners.py);step (lumos_queue/episode.py) 1",
            "run (asyncio/runners.py);Condition.wait (threading.py) 9",
            "load (<frozen importlib._bootstrap>);step (lumos_queue/episode.py) 9",
        )
    )
    lines = profile.report(raw).splitlines()
    assert lines[0] == "4 samples"
    assert [line.split() for line in lines[3:5]] == [
        ["75.0%", "75.0%", "json"],
        ["25.0%", "25.0%", "generator", "and", "dialogue"],
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_cpu_and_memory_of_processes():
    pid = psutil.Process().pid
    before = tree_cpu(pid)
    sum(range(3_000_000))
    assert tree_cpu(pid) > before and pss(pid) > 2**20
