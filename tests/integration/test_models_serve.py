"""`lumos serve MODEL`: a real server, asked through its endpoint, and gone afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.cli.main import main
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.settings import Settings
from tests.processes import child_pids, wait_until_ended
from tests.tiny_adapter import make_tiny_adapter
from tests.tiny_model import make_tiny_model

pytest.importorskip("uvicorn", reason="needs transformers[serving]")
pytest.importorskip("fastapi", reason="needs transformers[serving]")
ROOT = Path(__file__).resolve().parents[2]
GREEDY = Sampling(max_tokens=8, stop=())


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    make_tiny_model(tmp_path / "home" / "models" / "tiny")
    return tmp_path / "home"


def start(home: Path, *arguments: str) -> tuple[subprocess.Popen, dict]:
    """The command, and what it said once it served."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lumos_queue.cli.main", "serve", *arguments, "--port", "0", "--json"],
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    line = process.stdout.readline()
    assert line, f"it ended with {process.wait()}"
    return process, json.loads(line)


def ask(url: str) -> str:
    async def call() -> str:
        endpoint = open_endpoint(url, Settings())
        try:
            return (await endpoint.generate(ModelCall("<|user|>\nTask: Tom", GREEDY))).text
        finally:
            await endpoint.close()

    return asyncio.run(call())


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGINT, signal.SIGKILL))]
)
def test_it_answers_and_leaves_no_process(home, number):
    process, told = start(home, "tiny")
    try:
        assert told["model"] == str(home / "models" / "tiny")
        assert ask(told["url"]) == ask(f"local:{home / 'models' / 'tiny'}")
        below = child_pids(process.pid)
        assert len(below) == 1
        process.send_signal(number)
        assert process.wait(180) == (-number if number == signal.SIGKILL else 0)
        wait_until_ended(below)
    finally:
        process.kill()


@pytest.mark.long
def test_an_adapter_is_merged_and_served(home, tmp_path):
    make_tiny_adapter(home / "models" / "tiny", tmp_path / "mine")
    process, told = start(home, str(tmp_path / "mine"))
    try:
        assert Path(told["model"]).parent == home / "models" / "merged"
        assert ask(told["url"]) == ask(f"local:{tmp_path / 'mine'}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(180)


def failure(capsys, *arguments: str) -> str:
    assert main(["serve", *arguments]) == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_port_that_is_taken(home, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert f"Cannot serve on 127.0.0.1, port {port}: Address already in use" in failure(
            capsys, "tiny", "--port", port
        )


def test_what_is_no_model(home, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "No model 'nope'" in failure(capsys, "nope")
    assert "it has no config.json" in failure(capsys, str(tmp_path / "empty"))
    assert "Cannot serve on nowhere.invalid" in failure(capsys, "tiny", "--host", "nowhere.invalid")
    assert "No server called 'x'" in failure(capsys, "tiny", "--print", "x")


def test_a_server_that_does_not_start_is_one_line(home, capsys, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setattr("lumos_queue.models.serve._START", "import sys; print('loading'); sys.exit('no such weights')")
    assert failure(capsys, "tiny", "--port", "0").endswith("The server did not start: no such weights")


@pytest.mark.long
def test_a_server_whose_weights_cannot_be_read_is_one_line(home, capsys):
    shutil.copytree(home / "models" / "tiny", home / "models" / "bad")
    (home / "models" / "bad" / "model.safetensors").write_bytes(b"not weights")
    assert "The server did not start: " in failure(capsys, "bad", "--port", "0")


@pytest.mark.parametrize(
    ("server", "command", "url"),
    [
        ("tgi", "text-generation-launcher --model-id {} --hostname 0.0.0.0 --port 9", "tgi://0.0.0.0:9"),
        ("vllm", "vllm serve {} --host 0.0.0.0 --port 9 --served-model-name tiny", "openai://0.0.0.0:9?model=tiny"),
    ],
)
def test_the_command_for_a_gpu_server(home, capsys, server, command, url):
    assert main(["serve", "tiny", "--print", server, "--host", "0.0.0.0", "--port", "9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"].startswith(command.format(home / "models" / "tiny"))
    assert told["url"] == url


def test_the_other_commands_of_the_group_are_still_there(capsys):
    for name in ("tools", "experts", "model"):
        assert main(["serve", name, "--help"]) == 0
        assert f"lumos serve {name}" in capsys.readouterr().out
