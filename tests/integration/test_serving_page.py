"""`transformers serve`, started as docs/serving.md says, with a small random model: the page's commands word for word,
and the openai endpoint against a real server on the CPU.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import SpecError, UnclearFailure
from lumos_queue.settings import Settings
from tests.services import free_port, wait_until
from tests.tiny_model import make_tiny_model

pytest.importorskip("uvicorn", reason="needs transformers[serving]")
pytest.importorskip("fastapi", reason="needs transformers[serving]")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
MODEL = ".lumos/models/smollm2"  #: that `lumos models get smollm2` writes; here a random one is put there
ROLES = "{% for one in messages %}<|{{ one.role }}|>\n{{ one.content }}\n{% endfor %}<|assistant|>\n"


def indented(section: str) -> list[str]:
    """The indented lines of a section, each command on one line."""
    [body] = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return [line.strip() for line in re.sub(r" \\\n +", " ", body).splitlines() if line.startswith("    ")]


SETTINGS = Settings(request_seconds=60.0, request_retries=1, api_keys=None, endpoint_hosts="", concurrency=8)
GREEDY = Sampling(max_tokens=12, stop=())
PROMPT = "<|user|>\nTask: Tom has 8 apples.\n<|assistant|>\n"
GET, SERVE, DOCTOR, *EVALUATE, PRINTED = indented("transformers serve (run here)")


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The folder and the port of the server that the page's command starts. It sees no hub and no cache."""
    folder, port = tmp_path_factory.mktemp("page"), free_port()
    (folder / "cache").mkdir()
    model = folder / MODEL
    model.mkdir(parents=True)
    make_tiny_model(model, context=8192)
    (model / "chat_template.jinja").write_text(ROLES)
    program, *arguments = shlex.split(SERVE.replace("--port 8000", f"--port {port}"))
    variables = {name: text for name, text in os.environ.items() if not name.startswith("LUMOS_")}
    variables |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    log = folder / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [Path(sys.executable).parent / program, *arguments], cwd=folder, env=variables, stdout=output, stderr=output
        )
    try:
        wait_until(lambda: is_healthy(port) or process.poll() is not None, "the server answers", 180, 0.2)
        assert process.poll() is None, log.read_text()[-2000:]
        yield SimpleNamespace(folder=folder, port=port)
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def command(server, lumos, monkeypatch):
    """Give a command of the page, in the folder and to the port of the server."""
    monkeypatch.chdir(server.folder)

    def run(line: str, *more: str):
        program, *words = shlex.split(line.replace(":8000", f":{server.port}"))
        assert program == "lumos"
        return lumos(*words, *more)

    return run


def test_the_model_is_where_the_page_says_it_is():
    assert f"lumos models get {Path(MODEL).name}" == GET and f"transformers serve {MODEL} " in SERVE


def test_the_doctor_prints_what_the_page_prints(server, command):
    printed = PRINTED.replace(":8000", f":{server.port}")
    assert " ".join(printed.split()) in " ".join(command(DOCTOR).out.split())


@pytest.mark.parametrize("line", EVALUATE)
def test_the_page_evaluates_a_chat_model_with_demonstrations(command, line):
    assert "--limit 50 --shots 4" in line and f"chat://127.0.0.1:8000?model={MODEL}" in line
    told = command(line.replace("--limit 50", "--limit 2"), "--json").json
    assert (told["state"], told["items"]["done"]) == ("done", 2)


def test_each_server_has_its_commands_and_says_whether_it_was_run():
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    servers = [head for head in heads if head.endswith("run here)")]
    assert [head for head in servers if "not run" not in head] == [
        "transformers serve (run here)",
        "llama.cpp (run here)",
    ]
    assert len(servers) == 5
    for head in servers:
        starts, *asks = [
            line for line in indented(head) if not line.startswith(("lumos models", "lumos doctor", "ok "))
        ]
        assert not starts.startswith("lumos") and all(line.startswith("lumos evaluate") for line in asks) and asks


def ask(url, *prompts, sampling=GREEDY, seed=0):
    async def run():
        endpoint = open_endpoint(url, SETTINGS)
        try:
            return await asyncio.gather(*(endpoint.generate(ModelCall(prompt, sampling, seed)) for prompt in prompts))
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


def test_it_writes_what_the_model_writes_in_this_process(server):
    port = server.port
    prompts = [PROMPT, "Subgoal 1:", "R1 = Calculator("]
    remote = ask(f"openai://127.0.0.1:{port}?model={MODEL}", *prompts)
    local = ask(f"local:{server.folder / MODEL}", *prompts)
    for there, here in zip(remote, local, strict=True):
        assert (there.text, there.finish_reason) == (here.text, here.finish_reason)
        assert (there.prompt_tokens, there.completion_tokens) == (here.prompt_tokens, here.completion_tokens)
    assert any(reply.text for reply in remote)


def test_it_accepts_each_field_we_send(server):
    port = server.port
    warm = Sampling(temperature=0.7, top_p=0.9, max_tokens=4, stop=("\n", "a", "b", "c", "d"))
    reply = ask(f"openai://127.0.0.1:{port}?model={MODEL}", PROMPT, sampling=warm, seed=2**40)[0]
    assert 1 <= reply.completion_tokens <= 4


def test_stop_strings_are_cut_from_its_text(server):
    port = server.port
    url = f"openai://127.0.0.1:{port}?model={MODEL}"
    whole = ask(url, PROMPT)[0].text
    stop = whole[len(whole) // 2]
    assert ask(url, PROMPT, sampling=Sampling(max_tokens=12, stop=(stop,)))[0].text == whole.partition(stop)[0].strip()


def test_it_is_recognised(server):
    port = server.port
    assert identify(f"openai://127.0.0.1:{port}?model={MODEL}")["model"] == MODEL


def test_its_model_is_the_one_it_lists(server):
    port = server.port
    assert identify(f"openai://127.0.0.1:{port}")["model"] == MODEL


def test_another_model_is_refused_in_one_line(server):
    port = server.port
    with pytest.raises(UnclearFailure, match="answered 400") as caught:
        ask(f"openai://127.0.0.1:{port}?model=another", PROMPT)
    assert "\n" not in str(caught.value)


def test_it_is_not_taken_for_tgi(server):
    port = server.port
    with pytest.raises(SpecError, match="write openai://HOST:PORT"):
        identify(f"tgi://127.0.0.1:{port}")
