"""What docs/serving.md says of `transformers serve` is done here, word for word, with a small random model."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.test_transformers_serve import free_port, wait_until_healthy
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


GET, SERVE, DOCTOR, *EVALUATE, PRINTED = indented("transformers serve (run here)")


class Shell:
    """The folder in which the commands are given, and the port that stands for the page's."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        (folder / "empty").mkdir()
        self._environment = {name: text for name, text in os.environ.items() if not name.startswith("LUMOS_")}
        self._environment |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "empty")}

    def words(self, command: str) -> list[str]:
        program, *rest = shlex.split(
            command.replace(":8000", f":{self.port}").replace("--port 8000", f"--port {self.port}")
        )
        scripts = {"lumos": [sys.executable, "-m", "lumos_queue.cli.main"]}
        return [*scripts.get(program, [str(Path(sys.executable).parent / program)]), *rest]

    def start(self, command: str, log: Path) -> subprocess.Popen:
        with log.open("w") as output:
            return subprocess.Popen(
                self.words(command), cwd=self.folder, env=self._environment, stdout=output, stderr=output
            )

    def run(self, command: str) -> str:
        done = subprocess.run(
            self.words(command), cwd=self.folder, env=self._environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A shell beside the server that the page's command starts."""
    opened = Shell(tmp_path_factory.mktemp("page"))
    model = opened.folder / MODEL
    model.mkdir(parents=True)
    make_tiny_model(model, context=8192)
    (model / "chat_template.jinja").write_text(ROLES)
    log = opened.folder / "log.txt"
    process = opened.start(SERVE, log)
    try:
        wait_until_healthy(opened.port, process, log)
        yield opened
    finally:
        process.terminate()
        process.wait(30)


def test_the_model_is_where_the_page_says_it_is():
    assert f"lumos models get {Path(MODEL).name}" == GET and f"transformers serve {MODEL} " in SERVE


@pytest.mark.long
def test_the_doctor_prints_what_the_page_prints(shell):
    printed = PRINTED.replace(":8000", f":{shell.port}")
    assert " ".join(printed.split()) in " ".join(shell.run(DOCTOR).split())


@pytest.mark.parametrize("command", EVALUATE)
def test_the_page_evaluates_a_chat_model_with_demonstrations(shell, command):
    assert "--limit 50 --shots 4" in command and f"chat://127.0.0.1:8000?model={MODEL}" in command
    told = json.loads(shell.run(command.replace("--limit 50", "--limit 2") + " --json").splitlines()[-1])
    assert (told["state"], told["items"]["done"]) == ("done", 2)


def test_each_server_has_its_commands_and_says_whether_it_was_run():
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    servers = [head for head in heads if head.endswith("run here)")]
    assert [head for head in servers if "not run here" not in head] == ["transformers serve (run here)"]
    assert len(servers) == 5
    for head in servers:
        starts, *asks = [
            line for line in indented(head) if not line.startswith(("lumos models", "lumos doctor", "ok "))
        ]
        assert not starts.startswith("lumos") and all(line.startswith("lumos evaluate") for line in asks) and asks
