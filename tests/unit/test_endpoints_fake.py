"""The fake endpoint itself: what other tests and measurements rely on."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.fake_endpoint import FakeEndpoint, digest, from_mapping

ROOT = Path(__file__).resolve().parents[2]


def post(port, prompt, timeout=10):
    body = json.dumps({"inputs": prompt, "parameters": {"max_new_tokens": 9}}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/generate", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)["generated_text"]


def test_replies_are_found_by_the_digest_of_the_prompt():
    with FakeEndpoint(from_mapping({digest("a"): "A"}, default="other")) as server:
        assert [post(server.port, "a"), post(server.port, "b")] == ["A", "other"]
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/calls", timeout=10) as response:
            assert [call["sha256"] for call in json.load(response)["calls"]] == [digest("a")[:32], digest("b")[:32]]


def test_slots_bound_what_runs_at_once_first_come_first_served():
    arrived = []
    with FakeEndpoint(lambda prompt: arrived.append(prompt) or prompt, latency=0.1, slots=2) as server:
        sockets = []
        started = time.perf_counter()
        for number in range(6):
            body = json.dumps({"inputs": str(number), "parameters": {"max_new_tokens": 9}}).encode()
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            connection.sendall(b"POST /generate HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            sockets.append(connection)
        ends = []
        for connection in sockets:
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            ends.append(time.perf_counter() - started)
            connection.close()
        assert server.most_busy == 2
    assert ends[5] >= 0.29, "three times two"


def control(port, **wish):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/control", json.dumps(wish).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def test_its_control_door_changes_what_happens_next():
    with FakeEndpoint(lambda prompt: "fine") as server:
        assert control(server.port, mode="500", latency=0.2).items() >= {"mode": "500", "latency": 0.2}.items()
        with pytest.raises(urllib.error.HTTPError, match="500"):
            post(server.port, "a")
        assert control(server.port, mode="ok")["count"] == 1
        started = time.perf_counter()
        assert post(server.port, "a") == "fine"
        assert time.perf_counter() - started >= 0.2
        control(server.port, limit=0)
        with pytest.raises(urllib.error.HTTPError, match="429"):
            post(server.port, "a")
        with pytest.raises(urllib.error.HTTPError, match="400"):
            control(server.port, speed=1)


@pytest.mark.parametrize("source", ["reply", "replies", "script"])
def test_as_a_process_it_logs_each_call_even_of_a_client_that_is_gone(tmp_path, source):
    log = tmp_path / "calls.jsonl"
    (tmp_path / "replies.json").write_text(json.dumps({digest("a"): "A"}))
    options = {"reply": "A", "replies": str(tmp_path / "replies.json"), "script": "string:capwords"}
    command = [
        sys.executable,
        "-m",
        "tests.fake_endpoint",
        "--log",
        str(log),
        "--failures",
        "hang",
        "--latency",
        "0.01",
    ]
    with subprocess.Popen(
        [*command, f"--{source}", options[source]], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            port = int(server.stdout.readline().split()[-1])
            with pytest.raises(TimeoutError):
                post(port, "b", timeout=0.5)
            assert post(port, "a") == "A"
            assert [json.loads(line)["sha256"] for line in log.read_text().splitlines()] == [
                digest("b")[:32],
                digest("a")[:32],
            ]
        finally:
            server.terminate()
