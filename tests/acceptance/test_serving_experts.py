"""`lumos serve experts` as a process of its own, and jobs whose experts it runs."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lumos_queue.cli.main import app
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends import remote
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.backends.remote_server import MAX_REQUEST
from tests.integration.test_model_synthesis_jobs import LABELLED, write_rules

SENTIMENT = "Sentiment Analysis"


class Served:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen, url: str):
        self.process, self.url = process, url

    def send(self, path: str, body: bytes | dict | None = None, key: str = "") -> tuple[int, str]:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def end(self) -> dict:
        """Its statistics."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return {name: count for name, count in json.loads(out.splitlines()[-1]).items() if count}


@pytest.fixture
def serve(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "FRESH_SECONDS", 0.0)

    @contextmanager
    def start(*options: str, port: int = 0, **variables: str) -> Iterator[Served]:
        command = [sys.executable, "-m", "lumos_queue.cli.main", "serve", "experts", "--port", str(port), "--json"]
        given = [*command, *(options or ("--tool", "experts=own"))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
        process = subprocess.Popen(
            given, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            said = ""
            assert process.stderr is not None
            while "serving at" not in said:
                said = process.stderr.readline()
                assert said, "it ended"
            yield Served(process, said.split("serving at ")[1].split(" until")[0])
        finally:
            process.kill()
            process.communicate()

    return start


def run_text(text: str, expert: str = SENTIMENT, **more: object) -> dict:
    inputs = [base64.b64encode(text.encode()).decode()]
    return {"expert": expert, "digest": resolve(SENTIMENT, "own:").digest, "inputs": inputs, **more}


def test_what_is_asked_is_run_described_and_refused_in_one_line(serve):
    with serve() as served:
        status, told = served.send("/experts")
        assert status == 200
        described = json.loads(told)["experts"][SENTIMENT]
        here = resolve(SENTIMENT, "own:")
        assert described == {"digest": here.digest, "licence": "MIT", "fidelity": "substitute", "note": here.note}
        status, reply = served.send("/run", run_text("the food was lovely and the staff were kind"))
        assert status == 200 and base64.b64decode(json.loads(reply)["value"]) in (b"positive", b"negative")
        status, reply = served.send("/run", run_text(""))
        assert json.loads(reply)["problem"]["kind"] == "bad_input"
        assert served.send("/run", {"control": True}) == (200, '{"value": ""}')
        refused = {
            "expert": run_text("a", expert="Mind Reading"),
            "digest": run_text("a", digest="0" * 64),
            "no list": run_text("a", inputs="YQ=="),
            "two": run_text("a", inputs=["YQ==", "YQ=="]),
            "not base64": run_text("a", inputs=["%%"]),
        }
        for name, body in refused.items():
            status, line = served.send("/run", body)
            assert status in (400, 404, 409) and line.count("\n") == 1, name
        for body in (b"{", b"[]", b'"x"'):
            assert served.send("/run", body)[0] == 400
        assert served.send("/run", b"x" * (MAX_REQUEST - 10))[0] == 400 and served.send("/other")[0] == 404
        assert served.end() == {"requests": 12, "values": 1, "problems": 1, "controls": 1, "refused": 8 + 1}


def test_a_key_is_asked_for_and_sent(serve, tmp_path, monkeypatch):
    with serve(LUMOS_SERVE_KEY="hush") as served:
        assert served.send("/experts")[0] == 401 and served.send("/run", run_text("good"))[0] == 401
        assert served.send("/run", run_text("good"), key="hush")[0] == 200
        said = refusal(arguments(tmp_path, served.url), tmp_path)
        assert "LUMOS_API_KEYS" in said and "hush" not in said
        keys = tmp_path / "keys"
        keys.write_text(f"{served.url} hush\n")
        keys.chmod(0o600)
        monkeypatch.setenv("LUMOS_API_KEYS", str(keys))
        assert resolve(SENTIMENT, served.url).digest == resolve(SENTIMENT, "own:").digest


def arguments(folder: Path, url: str) -> list[str]:
    return [
        "evaluate",
        "openagi",
        "--split",
        "labelled",
        "--formulation",
        "model-synthesis",
        "--planner",
        write_rules(folder, "prompt-2"),
        "--tool",
        f"experts={url}",
        "--option",
        "samples=2",
        "--json",
    ]


def evaluate(folder: Path, url: str) -> str:
    done = CliRunner().invoke(app, arguments(folder, url), env={"LUMOS_HOME": str(folder / "home")})
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(command: list[str], folder: Path) -> str:
    """The one line that a submission is refused with."""
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(folder / "home")})
    assert isinstance(done.exception, SpecError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


def figures(output: str) -> dict:
    report = json.loads(output.splitlines()[-1])
    return {name: one["value"] for name, one in report["metrics"].items()}


def provenances(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / "home" / "lumos.db")) as database:
        return dict(database.execute("SELECT provenance, count(*) FROM tool_call GROUP BY provenance"))


def test_a_job_whose_experts_run_elsewhere_scores_as_one_whose_experts_run_here(serve, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    here = figures(evaluate(tmp_path / "here", "own"))
    with serve() as served:
        there = figures(evaluate(tmp_path / "there", served.url))
        counts = served.end()
    assert there == here and here["feasible"] == 1
    runs = provenances(tmp_path / "there")
    assert runs == provenances(tmp_path / "here") and counts["values"] <= 2 * runs["live"]
    assert LABELLED and counts.get("refused", 0) == 0


@pytest.mark.long
def test_a_job_goes_on_when_its_server_was_killed_and_is_back(serve, tmp_path):
    """Without a failure charged, and without a wrong answer: its figures are those of an undisturbed job."""
    (tmp_path / "here").mkdir()
    here = figures(evaluate(tmp_path / "here", "own"))
    with serve() as first:
        port = int(first.url.rpartition(":")[2])
        command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments(tmp_path, first.url)]
        environment = os.environ | {"LUMOS_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE) as job:
            wait_for(lambda: count_runs(tmp_path) >= 3)
            first.process.kill()
            first.process.communicate()
            time.sleep(3)  # longer than the first tries take
            with serve(port=port) as second:
                out, _ = job.communicate(timeout=200)
                assert second.end()["values"] > 0, "it was killed before the job's end"
    assert figures(out) == here


def count_runs(folder: Path) -> int:
    file = folder / "home" / "lumos.db"
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as database:
        try:
            return database.execute("SELECT count(*) FROM tool_call").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def wait_for(condition, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_a_server_that_is_missing_lacks_an_expert_or_is_no_such_server_is_told_at_submission(serve, tmp_path):
    for url, said in (
        ("http://127.0.0.1:9", "lumos serve experts"),
        ("http://user:secret@127.0.0.1:9", "The address of experts cannot be read"),
        ("http://127.0.0.1:9?key=secret", "The address of experts cannot be read"),
    ):
        told = refusal(arguments(tmp_path, url), tmp_path)
        assert said in told and "secret" not in told
    with serve("--tool", "sentiment-analysis=own:") as served:
        told = refusal(arguments(tmp_path, served.url), tmp_path)
        assert f"which {served.url} does not serve" in told and "13 of 14 experts cannot run" in told


@pytest.mark.parametrize(
    ("tool", "said"),
    [("experts=oracle", "Oracles run where"), ("sentiment-analysis=x:", "names no backend"), ("expert=own", "No tool")],
)
def test_what_cannot_be_served_is_said_in_one_line(tool, said, tmp_path):
    assert said in refusal(["serve", "experts", "--tool", tool], tmp_path)
