"""The openai endpoint against a real `transformers serve` on the CPU, with a small random model."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import SpecError, Undecided
from tests.tiny_model import make_tiny_model

pytest.importorskip("uvicorn", reason="needs transformers[serving]")
pytest.importorskip("fastapi", reason="needs transformers[serving]")

SETTINGS = SimpleNamespace(request_seconds=60.0, request_retries=1, api_keys=None, endpoint_hosts="", concurrency=8)
GREEDY = Sampling(max_tokens=12, stop=())
PROMPT = "<|user|>\nTask: Tom has 8 apples.\n<|assistant|>\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(port: int, process: subprocess.Popen, log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"transformers serve did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(port, model folder) of a running server that sees no hub and no cache."""
    folder, home = tmp_path_factory.mktemp("model"), tmp_path_factory.mktemp("home")
    make_tiny_model(folder)
    port, log = free_port(), home / "log.txt"
    command = [Path(sys.executable).parent / "transformers", "serve", folder]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_healthy(port, process, log)
        yield port, folder
    finally:
        process.terminate()
        process.wait(30)


def ask(url, *prompts, sampling=GREEDY, seed=0):
    async def run():
        endpoint = open_endpoint(url, SETTINGS)
        try:
            return await asyncio.gather(*(endpoint.generate(prompt, sampling, seed) for prompt in prompts))
        finally:
            await endpoint.close()

    return asyncio.run(run())


def identify(url):
    async def run():
        endpoint = open_endpoint(url, SETTINGS)
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    return asyncio.run(run())


def test_it_writes_what_the_model_writes_in_this_process(served):
    port, folder = served
    prompts = [PROMPT, "Subgoal 1:", "R1 = Calculator("]
    remote = ask(f"openai://127.0.0.1:{port}?model={folder}", *prompts)
    local = ask(f"local:{folder}", *prompts)
    for there, here in zip(remote, local, strict=True):
        assert (there.text, there.finish_reason) == (here.text, here.finish_reason)
        assert (there.prompt_tokens, there.completion_tokens) == (here.prompt_tokens, here.completion_tokens)
    assert any(reply.text for reply in remote)


def test_it_accepts_each_field_we_send(served):
    port, folder = served
    warm = Sampling(temperature=0.7, top_p=0.9, max_tokens=4, stop=("\n", "a", "b", "c", "d"))
    reply = ask(f"openai://127.0.0.1:{port}?model={folder}", PROMPT, sampling=warm, seed=2**40)[0]
    assert 1 <= reply.completion_tokens <= 4


def test_stop_strings_are_cut_from_its_text(served):
    port, folder = served
    url = f"openai://127.0.0.1:{port}?model={folder}"
    whole = ask(url, PROMPT)[0].text
    stop = whole[len(whole) // 2]
    assert ask(url, PROMPT, sampling=Sampling(max_tokens=12, stop=(stop,)))[0].text == whole.partition(stop)[0].strip()


def test_it_is_recognised(served):
    port, folder = served
    assert identify(f"openai://127.0.0.1:{port}?model={folder}")["model"] == str(folder)


def test_its_model_is_the_one_it_lists(served):
    port, folder = served
    assert identify(f"openai://127.0.0.1:{port}")["model"] == str(folder)


def test_another_model_is_refused_in_one_line(served):
    port, _ = served
    with pytest.raises(Undecided, match="answered 400") as caught:
        ask(f"openai://127.0.0.1:{port}?model=another", PROMPT)
    assert "\n" not in str(caught.value)


def test_it_is_not_taken_for_tgi(served):
    port, _ = served
    with pytest.raises(SpecError, match="write openai://HOST:PORT"):
        identify(f"tgi://127.0.0.1:{port}")
