"""`lumos up`: its folder, its ports, its broker, its children, and what a person reads."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import stat
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import workers.up
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from tests import services
from tests.services import free_port
from workers.supervisor import Child
from workers.up import (
    _commands,
    _lock,
    _StopRequests,
    _watch,
    find_procfile,
    up,
)

#: A part of a deployment: it writes its environment and its folder, and listens at its port until TERM.
PART = """
import json, os, socket, sys, time
folder, name, port = sys.argv[1:]
with open(f"{folder}/{name}.part", "w") as file:
    json.dump({"environment": dict(os.environ), "folder": os.getcwd()}, file)
os.rename(f"{folder}/{name}.part", f"{folder}/{name}.json")
server = socket.create_server(("127.0.0.1", int(os.environ[port])))
while True:
    server.accept()
"""


@pytest.fixture(autouse=True)
def same_signals():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Lines(list[str]):
    """What was said; `then` is called after a line that begins with a text."""

    def __init__(self, beginning: str = "\0", then=None):
        super().__init__()
        self._beginning, self._then = beginning, then

    def __call__(self, line: str) -> None:
        self.append(line)
        if line.startswith(self._beginning):
            self._then()


def stop_this_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def run_up(settings: Settings, lines: Lines) -> int:
    """Run a deployment. It gets TERM if it runs too long, so that no test hangs."""
    timer = threading.Timer(services.WAIT_SECONDS, stop_this_process)
    timer.start()
    try:
        return up(settings, lines)
    finally:
        timer.cancel()


@pytest.fixture
def procfile(tmp_path, monkeypatch):
    """Write the Procfile of a deployment: the name of each part with the variable of its port."""
    script = tmp_path / "part.py"
    script.write_text(PART)

    def write(**ports: str) -> Path:
        file = tmp_path / "Procfile"
        command = f"python3 {shlex.quote(str(script))} {shlex.quote(str(tmp_path))}"
        file.write_text("".join(f"{name}: {command} {name} {port}\n" for name, port in ports.items()))
        monkeypatch.setattr(workers.up, "find_procfile", lambda: file)
        return file

    return write


def read_part(folder: Path, name: str) -> dict:
    return json.loads((folder / f"{name}.json").read_text())


def test_a_deployment_starts_its_parts_says_where_they_are_and_ends_with_term(tmp_path, monkeypatch, procfile):
    for name in ("FLOWER_PORT", "FLOWER_BASIC_AUTH"):
        monkeypatch.delenv(name, raising=False)
    procfile(flower="FLOWER_PORT", web="LUMOS_WEB_PORT")
    settings = Settings(home=tmp_path / "home", broker_url="memory://", web_port=free_port(), drain_seconds=0.5)
    lines = Lines("To submit jobs to it", stop_this_process)
    assert run_up(settings, lines) == 0
    flower, web = read_part(tmp_path, "flower"), read_part(tmp_path, "web")
    variables = web["environment"]
    home = tmp_path / "home"
    database = f"sqlite:///{home / 'lumos.db'}"
    login = variables["FLOWER_BASIC_AUTH"].removeprefix("lumos:")
    assert lines == [
        "starting: flower, web",
        "lumos is up; Ctrl-C stops it.",
        f"  explorer  http://127.0.0.1:{settings.web_port}/login?token={variables['LUMOS_WEB_TOKEN']}",
        f"  Flower    http://127.0.0.1:{variables['FLOWER_PORT']}  login lumos / {login}",
        f"  logs      {home / 'logs'}",
        "To submit jobs to it, in another terminal:",
        f"  export LUMOS_DATABASE_URL={database}",
        "stopping",
    ]
    assert len(login) >= 12 and len(variables["LUMOS_WEB_TOKEN"]) >= 32
    assert variables["LUMOS_DATABASE_URL"] == database and (home / "lumos.db").is_file()
    assert (variables["LUMOS_HOME"], variables["LUMOS_BROKER_URL"]) == (str(home), "memory://")
    assert variables["LUMOS_WEB_URL"] == f"http://127.0.0.1:{settings.web_port}"
    assert variables["LUMOS_FLOWER_URL"] == f"http://127.0.0.1:{variables['FLOWER_PORT']}"
    assert variables["PYTHONUNBUFFERED"] == "1" and variables["PYTHONSAFEPATH"] == "1"
    assert variables["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert "LUMOS_WEB_TOKEN" not in flower["environment"], "only the explorer has the token"
    assert flower["folder"] == web["folder"] == str(home / "run" / "empty")
    for name in ("flower", "web"):
        assert stat.S_IMODE((home / "logs" / f"{name}.log").stat().st_mode) == 0o600
    for port in (settings.web_port, int(variables["FLOWER_PORT"])):
        assert socket.socket().connect_ex(("127.0.0.1", port)) != 0, "the parts have ended"
    _lock(home).close()


def test_what_a_person_has_set_is_kept(tmp_path, monkeypatch, procfile):
    port = str(free_port())
    monkeypatch.setenv("FLOWER_PORT", port)
    monkeypatch.setenv("FLOWER_BASIC_AUTH", "me:secret")
    monkeypatch.setenv("PATH", "/usr/bin")
    procfile(flower="FLOWER_PORT", web="LUMOS_WEB_PORT")
    settings = Settings(
        home=tmp_path / "home",
        broker_url="memory://",
        database_url=f"sqlite:///{tmp_path / 'mine.db'}",
        web_port=free_port(),
        web_token="t" * 20,
        web_url="https://jobs.example",
        flower_url="https://flower.example",
        concurrency=10**6,
        drain_seconds=0.5,
    )
    lines = Lines("  logs", stop_this_process)
    assert run_up(settings, lines) == 0
    variables = read_part(tmp_path, "web")["environment"]
    assert (variables["FLOWER_PORT"], variables["FLOWER_BASIC_AUTH"]) == (port, "me:secret")
    assert variables["LUMOS_WEB_URL"] == "https://jobs.example"
    assert variables["LUMOS_FLOWER_URL"] == "https://flower.example"
    assert variables["LUMOS_WEB_TOKEN"] == "t" * 20 and variables["PATH"].endswith(f"{os.pathsep}/usr/bin")
    assert lines[0].startswith("open files are limited to ")
    assert f"  Flower    http://127.0.0.1:{port}  login me / secret" in lines
    assert lines[-2:] == [f"  logs      {tmp_path / 'home' / 'logs'}", "stopping"], "the addresses are known to them"


def test_a_deployment_whose_broker_does_not_answer_starts_nothing(tmp_path, monkeypatch, procfile):
    monkeypatch.setattr(workers.up, "BROKER_SECONDS", 0.2)
    procfile(flower="FLOWER_PORT")
    url = f"redis://:SECRET@127.0.0.1:{free_port()}/0"
    with pytest.raises(SpecError) as error:
        up(Settings(home=tmp_path / "home", broker_url=url), Lines())
    text = str(error.value)
    assert text.startswith(f"The broker at {url.replace(':SECRET', '***')} does not answer: ")
    assert text.endswith(". Set LUMOS_BROKER_URL to another.") and "SECRET" not in text
    assert not (tmp_path / "flower.json").exists()
    _lock(tmp_path / "home").close()


def test_the_procfile_is_that_of_the_checkout_or_of_the_installed_package(tmp_path, monkeypatch):
    assert find_procfile() == Path(workers.up.__file__).resolve().parents[1] / "Procfile" or find_procfile().is_file()
    package = tmp_path / "workers"
    package.mkdir()
    monkeypatch.setattr(workers.up, "__file__", str(package / "up.py"))
    with pytest.raises(SpecError) as error:
        find_procfile()
    assert str(error.value) == "No Procfile beside the package 'workers': install lumos-queue again."
    (tmp_path / "Procfile").touch()
    assert find_procfile() == tmp_path / "Procfile"
    (package / "Procfile").touch()
    assert find_procfile() == package / "Procfile"


def test_without_its_libraries_the_explorer_is_not_started_and_a_person_reads_why(monkeypatch, procfile):
    def refuse(*libraries: str, extra: str) -> None:
        raise SpecError(f"{', '.join(libraries)}: {extra}")

    procfile(web="LUMOS_WEB_PORT", flower="FLOWER_PORT")
    lines = Lines()
    assert list(_commands(lines)) == ["web", "flower"] and lines == []
    monkeypatch.setattr(workers.up, "require_libraries", refuse)
    assert list(_commands(lines)) == ["flower"]
    (line,) = lines
    assert line.startswith("the explorer is not started. ") and line.endswith(": web")
    procfile(flower="FLOWER_PORT")
    assert list(_commands(lines)) == ["flower"] and len(lines) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_first_signal_asks_to_end_and_a_second_hurries(number):
    requests = _StopRequests()
    assert (requests.count, requests.twice) == (0, False)
    signal.raise_signal(number)
    assert (requests.count, requests.twice) == (1, False)
    signal.raise_signal(number)
    assert (requests.count, requests.twice) == (2, True)


def child(folder: Path, code: str, name: str = "part") -> Child:
    return Child(name, [sys.executable, "-c", code], folder / f"{name}.log", {**os.environ}, folder)


NOBODY = {"FLOWER_PORT": "1", "LUMOS_WEB_PORT": "1", "LUMOS_BROKER_URL": "memory://"}


def watch(children: list[Child], folder: Path, lines: Lines, count: int = 0) -> int:
    for part in children:
        part.start()
    try:
        return _watch(children, NOBODY, Settings(home=folder), folder, SimpleNamespace(count=count), lines)
    finally:
        for part in children:
            part.kill_group()


def test_a_part_that_keeps_dying_stops_everything_with_its_last_lines(tmp_path):
    lines = Lines()
    assert watch([child(tmp_path, "print('a problem'); raise SystemExit(3)")], tmp_path, lines) == 1
    death = [f"part ended with status 3; the end of {tmp_path / 'part.log'}:", *["  a problem"]]
    again = "starting part again"
    assert [line for line in lines if line != "  a problem"] == [
        "starting: part",
        *[death[0], again] * 3,
        death[0],
        "part does not stay up: stopping everything.",
    ]
    assert lines.count("  a problem") == 1 + 2 + 3 + 4, "the end of a log that grows"


def test_parts_that_never_answer_stop_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(workers.up, "READY_SECONDS", 0.0)
    lines = Lines()
    assert watch([child(tmp_path, "import time; time.sleep(1000)")], tmp_path, lines) == 1
    assert lines == [
        "starting: part",
        f"Not all of it answers after 0 s: see {tmp_path / 'logs'}. Stopping everything.",
    ]


def test_a_stop_request_ends_the_watch_though_nothing_answers(tmp_path):
    lines = Lines()
    assert watch([], tmp_path, lines, 1) == 0
    assert lines == ["starting: ", "stopping"]
