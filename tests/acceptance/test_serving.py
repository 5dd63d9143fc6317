"""`lumos serve tools` as a process of its own: what it answers, what it refuses, what it says, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.execution.serving.server import reach_warning
from lumos_queue.execution.tools.callers import open_caller
from lumos_queue.settings import Settings
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, call, play, record

COMMAND = [sys.executable, "-m", "lumos_queue.cli.main", "serve", "tools"]
RECORDS = [
    record(response={"town": "Ombry"}),
    record(response="a second answer to the same request"),
    record(arguments={"parcelid": "P1", "limit": 2}, response=["sent", "there"]),
    record(arguments={"parcelid": "P9"}, response="", error="no such parcel", code=11),
]


class Served:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen, port: int, remarks: list[str]):
        self.process, self.port, self.remarks = process, port, remarks
        self.url = f"http://127.0.0.1:{port}/virtual"

    def send(self, body: bytes | dict, path: str = "/virtual") -> tuple[int, str]:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def statistics(self) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/statistics", timeout=60) as reply:
            return {name: count for name, count in json.load(reply).items() if count}

    def raw(self, data: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code and standard output."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=45)  # less than aiohttp waits for open connections
        return self.process.returncode, out


@pytest.fixture
def serve(tmp_path):
    (tmp_path / "records.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    (tmp_path / "documents.json").write_text(json.dumps([{"query": "?", "query_id": 1, "api_list": [LATEST, OFFICES]}]))

    @contextmanager
    def start(*options: str, documents: bool = True, **variables: str) -> Iterator[Served]:
        given = [*COMMAND, "--records", "records.jsonl", "--port", "0", *options]
        given += ["--documents", "documents.json"] if documents else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
        process = subprocess.Popen(
            given, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            remarks: list[str] = []
            while "serving at" not in "".join(remarks):
                remarks.append(process.stderr.readline())
                assert remarks[-1], f"it ended: {remarks}"
            yield Served(process, int(remarks[-1].split(":")[2].split("/")[0]), remarks)
        finally:
            process.kill()
            process.communicate()

    return start


def ask(arguments: object, api: str = "latest", **more: object) -> dict:
    """A request as ToolBench's clients send it."""
    names = {"category": "Parcels_Mail", "tool_name": "swift_post", "api_name": api}
    return {**names, "tool_input": arguments, "strip": "truncate", "toolbench_key": "", **more}


def answer(served: Served, request: dict) -> dict:
    status, body = served.send(request)
    assert status == 200, body
    return json.loads(body)


def test_requests_are_answered_as_a_session_answers_them_and_counted(serve):
    with serve() as served:
        assert len(served.remarks) == 1, "no warning on loopback"
        town = {"error": "", "response": {"town": "Ombry"}}
        assert answer(served, ask({"parcelid": "P1"})) == town
        assert answer(served, ask('{"parcelId": "P1"}')) == town, "the first answer, always"
        assert answer(served, ask({"limit": "2", "parcelid": "P1"}))["response"] == ["sent", "there"]
        assert answer(served, ask({"parcelid": "P9"}))["error"] == "no such parcel"
        written = {"category": "Parcels, Mail", "tool_name": "Swift Post", "api_name": "Latest"}
        assert answer(served, ask({"parcelid": "P1"}, **written)) == town
        assert answer(served, ask({"parcelid": "P1"}, "latest_for_swift_post")) == town
        assert answer(served, ask({"parcelid": "P2"})) == {
            "error": "no answer to this request is available",
            "response": "",
        }
        assert "needs the argument 'parcelid'" in answer(served, ask(""))["error"]
        assert "there is no API Parcels_Mail / swift_post / weather" in answer(served, ask({}, "weather"))["error"]
        counts = {"requests": 9, "recorded": 6, "misses": 1, "unknown": 1, "invalid": 1}
        assert served.statistics() == counts
        assert served.end() == (0, "9 requests, 6 recorded, 1 misses, 1 unknown, 1 invalid\n")


def test_without_documents_what_is_recorded_is_found_by_either_spelling(serve):
    with serve(documents=False) as served:
        assert answer(served, ask({"parcelid": "P1"}))["response"] == {"town": "Ombry"}
        assert "there is no API" in answer(served, ask({}, "offices"))["error"]
        served.end()


@pytest.mark.parametrize("mode", ["nearest", "synthetic"])
def test_what_was_not_recorded_is_answered_as_the_mode_says_and_as_a_session_does(mode, serve, tmp_path):
    arguments = {"parcelid": "P7", "limit": 2}
    tools = {"answers": mode, "records": str(tmp_path / "records.jsonl")}
    session = play([call(LATEST_NAME, arguments)], tools=tools)[0][0]
    with serve("--answers", mode) as served:
        for given in (arguments, {"limit": 2, "parcelId": "P7"}):
            assert answer(served, ask(given)) == json.loads(session.values[0].get("full", session.values[0]["text"]))
        assert served.statistics() == {"requests": 2, mode: 2}


def test_concurrent_requests_get_identical_bodies(serve):
    bodies = [ask({"parcelid": "P7", "full": True, "limit": 3}), ask({"limit": 3.0, "full": "true", "parcelid": "P7"})]
    with serve("--answers", "synthetic") as served, ThreadPoolExecutor(20) as pool:
        found = list(pool.map(served.send, bodies * 100))
        assert served.statistics() == {"requests": 200, "synthetic": 200}
    assert len(set(found)) == 1 and found[0][0] == 200


HOSTILE = [
    (b"x" * 10_000_000, 413),
    (b'{"a": "' + b"y" * 2**20 + b'"}', 413),
    (b"[" * 500_000, 400),
    (b'{"tool_input": ' + b'{"a":' * 200 + b"1" + b"}" * 201, 400),
    (b"", 400),
    (b"no JSON", 400),
    (b"[]", 400),
    (b"\xff\xfe\x00", 400),
    (b'{"n": ' + b"9" * 6_000 + b"}", 400),
    (b"null", 400),
    (json.dumps(ask(7)).encode(), 400),
    (json.dumps(ask([])).encode(), 400),
    (json.dumps(ask({}, 5)).encode(), 400),
    (json.dumps({"category": None}).encode(), 400),
    (json.dumps(ask("{" * 10_000)).encode(), 200),
    (json.dumps(ask({"parcelid": "\x00\ud800\x1b[2J"})).encode(), 200),
    (json.dumps(ask({"\x00": {"\ud800": float("nan")}})).encode(), 200),
    (json.dumps(ask({}, "\x00\ud800\x1b[2J" * 1000)).encode(), 200),
]


def test_hostile_bodies_are_answered_or_refused_in_one_line_and_the_server_lives_on(serve):
    with serve() as served:
        for body, expected in HOSTILE:
            status, said = served.send(body)
            assert (status, "\x1b" in said, said.count("\n")) == (expected, False, status != 200), (body[:80], said)
            assert status != 200 or json.loads(said)["error"]
        assert answer(served, ask({"parcelid": "P1"}))["response"] == {"town": "Ombry"}
        counts = served.statistics()
        assert counts["refused"] == sum(status != 200 for _, status in HOSTILE)
        assert counts["requests"] == len(HOSTILE) + 1 == sum(counts.values()) - counts["requests"]
        assert served.send(b"{}", "/other")[0] == 404 and served.send(b"{}", "/statistics")[0] == 405
        served.raw(b"POST /virtual HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n").close()
        served.raw(b"\x16\x03\x01 no HTTP \x1b[2J\r\n\r\n").close()
        for kind in (b"multipart/form-data; boundary=\x1b[2J", b"application/x-www-form-urlencoded"):
            head = b"POST /%%1b\xff?a=%%ff HTTP/1.1\r\nHost: a\r\nContent-Encoding: \x1b[2J\r\nContent-Type: "
            served.raw(head + kind + b"\r\nContent-Length: 3\r\n\r\n--x").recv(100)
        served.process.send_signal(signal.SIGINT)
        _, err = served.process.communicate(timeout=60)
        assert (served.process.returncode, err) == (0, "")


def test_clients_that_are_slow_keep_nobody_from_being_answered_nor_the_server_from_ending(serve):
    with serve() as served:
        slow = [served.raw(b"POST /virtual HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\n{") for _ in range(20)]
        slow += [served.raw(b"POST /vir") for _ in range(20)]
        assert answer(served, ask({"parcelid": "P1"}))["response"] == {"town": "Ombry"}
        code, _ = served.end(signal.SIGINT)
        for one in slow:
            one.close()
    assert code == 0


def test_a_key_is_needed_where_one_is_set(serve):
    with serve(LUMOS_SERVE_KEY="secr\u00e9t") as served:
        for wrong in ("", "secret", "secr\u00e9t ", None, 7, "\ud800"):
            status, said = served.send(ask({"parcelid": "P1"}, toolbench_key=wrong))
            assert status == 401 and "secr" not in said
        assert answer(served, ask({"parcelid": "P1"}, toolbench_key="secr\u00e9t"))["error"] == ""
        assert served.statistics() == {"requests": 7, "recorded": 1, "refused": 6}


@pytest.mark.parametrize(
    ("addresses", "key", "told"),
    [
        (["127.0.0.1", "::1"], "", ""),
        (["0.0.0.0"], "", "0.0.0.0:8080 is reachable from other machines, and answers everyone (set LUMOS_SERVE_KEY"),
        (["127.0.0.1", "fe80::1%eth0"], "k", "[fe80::1%eth0]:8080 is reachable from other machines, and answers who"),
    ],
)
def test_an_address_that_others_reach_is_warned_of_in_one_line(addresses, key, told):
    warning = reach_warning([(address, 8080) for address in addresses], key)
    assert told in warning and bool(told) == bool(warning) and "\n" not in warning


def test_our_own_agents_are_served_where_their_job_names_the_server(serve, tmp_path):
    with serve() as served:

        class Lent:
            """A caller as a job opens it, within the episode's event loop."""

            caller = None

            async def call(self, command, key):
                self.caller = self.caller or open_caller(True, "", Deployment(Settings(home=tmp_path)), served.url)
                return await self.caller.call(command, key)

        actions = [call(LATEST_NAME, {"parcelid": parcel}) for parcel in ("P1", "P9", "P2")]
        live = play(actions, tools={"answers": "live", "server": served.url}, caller=Lent())[0]
    strict = play(actions, tools={"answers": "strict", "records": str(tmp_path / "records.jsonl")})[0]
    assert [(one.status, one.provenance) for one in live] == [
        ("ok", "live"),
        ("tool_error", "live"),
        ("tool_error", "live"),
    ]
    assert [one.result for one in live] == [one.result for one in strict]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "There is nothing to serve: give --records FILE"),
        (["--records", "none.jsonl"], "Cannot read 'none.jsonl': No such file or directory"),
        (["--records", "records.jsonl", "--answers", "live"], "Choose one of: nearest, strict, synthetic"),
        (["--records", "records.jsonl", "--host", "203.0.113.7"], "Cannot serve on 203.0.113.7, port 8080"),
        (["--records", "records.jsonl", "--documents", "records.jsonl"], "is not a ToolBench query file"),
    ],
)
def test_what_cannot_be_served_is_one_line(serve, tmp_path, options, told):
    ran = subprocess.run([*COMMAND, *options], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and told in ran.stderr and ran.stderr.count("\n") == 1
