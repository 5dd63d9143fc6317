"""Processes of a deployment: children of `lumos up`, the `celery` command, a process that hangs, an idle process."""

from __future__ import annotations

import gc
import itertools
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import workers.hang
import workers.preload
import workers.presence
import workers.rejection_counter
import workers.run_celery
import workers.supervisor
from lumos_queue.errors import DatabaseUnavailable, SpecError
from lumos_queue.settings import Settings
from tests import services
from tests.processes import wait_until_ended
from tests.services import wait_until
from workers.hang import HUNG, end_process
from workers.open_files import allow_open_files, files_needed
from workers.presence import Presence
from workers.supervisor import Child, end_children, read_procfile


def test_a_procfile_names_commands_with_their_arguments(tmp_path):
    file = tmp_path / "Procfile"
    file.write_text("# a comment: x\n\n  \nweb:lumos web --port '8 9'\n worker_llm-1:   python3 -P x  \n")
    assert read_procfile(file) == {
        "web": ["lumos", "web", "--port", "8 9"],
        "worker_llm-1": ["python3", "-P", "x"],
    }


@pytest.mark.parametrize("line", ["web", "web:", "a b: c", ": c", "wéb: c"])
def test_a_line_that_is_no_command_is_named_with_its_number(tmp_path, line):
    file = tmp_path / "Procfile"
    file.write_text(f"# first\n{line}\n", encoding="utf-8")
    with pytest.raises(SpecError) as error:
        read_procfile(file)
    assert str(error.value) == f"{file}, line 2: expected 'name: command', found '{line}'."


def make_child(folder: Path, code: str, name: str = "part", **options) -> Child:
    environment = {"PATH": os.environ["PATH"], "ONLY": "this"}
    return Child(name, [sys.executable, "-c", code], folder / f"{name}.log", environment, folder, **options)


def test_a_child_has_its_own_environment_folder_group_input_and_log(tmp_path):
    code = (
        "import os, sys, json; print(json.dumps([os.environ.get('ONLY'), os.environ.get('HOME'), os.getcwd(), "
        "os.getsid(0) == os.getpid(), sys.stdin.read()])); print('error', file=sys.stderr)"
    )
    for data in (b"", b"a password"):
        child = make_child(tmp_path, code, stdin=data)
        assert child.exit_status is None
        child.start()
        assert child.process is not None
        wait_until(lambda child=child: child.exit_status == 0, "it ends")
    lines = child.last_lines()
    assert [json.loads(line) for line in lines if line != "error"] == [
        ["this", None, str(tmp_path), True, text] for text in ("", "a password")
    ]
    assert lines.count("error") == 2, "the log of an earlier start is kept"
    assert "a password" not in repr(child) and "this" not in repr(child)


SLEEPER = "import time; print('up', flush=True); time.sleep(1000)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"


def start_children(folder: Path, **codes: str) -> list[Child]:
    children = [make_child(folder, code, name) for name, code in codes.items()]
    for child in children:
        child.start()
    for child in children:
        wait_until(lambda child=child: child.last_lines() == ["up"] or child.exit_status is not None, "it is up")
    return children


def test_children_end_with_term_and_those_that_do_not_are_killed(tmp_path):
    never = make_child(tmp_path, "", "never")
    quick, stubborn, over = start_children(tmp_path, quick=SLEEPER, stubborn=STUBBORN, over="pass")
    wait_until(lambda: over.exit_status == 0, "it ends")
    end_children([quick, stubborn, over, never], 0.3)
    assert [child.exit_status for child in (quick, stubborn, over, never)] == [
        -signal.SIGTERM,
        -signal.SIGKILL,
        0,
        None,
    ]


def test_a_child_that_needs_time_to_end_is_waited_for(tmp_path):
    code = (
        f"import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.2), sys.exit(7))); {SLEEPER}"
    )
    (child,) = start_children(tmp_path, part=code)
    end_children([child], services.WAIT_SECONDS)
    assert child.exit_status == 7


def test_the_end_of_children_is_not_waited_for_longer_than_they_take(tmp_path, monkeypatch):
    waits = []
    (quick,) = start_children(tmp_path, quick=SLEEPER)
    monkeypatch.setattr(
        workers.supervisor,
        "time",
        SimpleNamespace(
            monotonic=itertools.count().__next__,
            sleep=lambda seconds: waits.append(quick.process.wait(services.WAIT_SECONDS)),
        ),
    )
    end_children([quick], 1000.0)
    assert len(waits) <= 1 and quick.exit_status == -signal.SIGTERM


def test_what_a_child_has_started_is_killed_with_its_group(tmp_path):
    code = (
        "import subprocess, sys, time; sleeper = [sys.executable, '-c', 'import time; time.sleep(1000)']; "
        "other = subprocess.Popen(sleeper); print(other.pid, flush=True); time.sleep(1000)"
    )
    child = make_child(tmp_path, code)
    child.start()
    other = int(wait_until(child.last_lines, "it has started another")[0])
    child.kill_group()

    wait_until_ended([other])
    child.kill_group()
    assert child.exit_status == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_gets_a_signal_from_the_kernel_when_the_thread_that_started_it_ends(tmp_path, number):
    code = f"import signal; signal.signal(signal.SIGTERM, lambda *_: print('term', flush=True)); {SLEEPER}"
    child, may_end = make_child(tmp_path, code, orphan_signal=number), threading.Event()
    thread = threading.Thread(target=lambda: (child.start(), may_end.wait()))
    thread.start()
    try:
        wait_until(lambda: child.last_lines() == ["up"], "it is up")
        may_end.set()
        if number == signal.SIGTERM:
            wait_until(lambda: child.last_lines() == ["up", "term"], "it gets the signal")
        else:
            wait_until(lambda: child.exit_status == -signal.SIGKILL, "it is killed")
    finally:
        may_end.set()
        thread.join()
        child.kill_group()


def test_the_last_lines_of_a_missing_log_are_none(tmp_path):
    assert make_child(tmp_path, "").last_lines() == []


class Ended(BaseException):
    """Raised in place of the end of this process."""


def test_a_process_that_hangs_logs_the_problem_and_ends_at_once_with_a_status_of_its_own(monkeypatch, caplog):
    ends = []

    def end(status: int) -> None:
        ends.append(status)
        raise Ended

    monkeypatch.setattr(workers.hang.os, "_exit", end)
    monkeypatch.setattr(workers.hang.logging, "shutdown", lambda: ends.append("shutdown"))
    with pytest.raises(Ended):
        end_process("the event loop hangs for 60 s")
    assert ends == ["shutdown", HUNG] and HUNG == 70
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("CRITICAL", "the event loop hangs for 60 s: this process ends")


@pytest.fixture
def celery_command(monkeypatch, tmp_path):
    """Run `workers.run_celery.main` with arguments; returns what the command of Celery got, and the current folder."""
    import celery.bin.celery

    for name in ("LUMOS_LAUNCH_FOLDER", "PYTHONSAFEPATH", "PYTHONPATH", "PATH"):
        monkeypatch.setenv(name, os.environ.get(name, str(tmp_path)))
    monkeypatch.delenv("LUMOS_LAUNCH_FOLDER")
    monkeypatch.setenv("LUMOS_HOME", "home")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> list:
        calls: list = []
        monkeypatch.setattr(sys, "argv", ["celery", *arguments])
        monkeypatch.setattr(celery.bin.celery, "celery", lambda *of, **options: calls.append((of, options, Path.cwd())))
        workers.run_celery.main()
        return calls

    return run


def test_celery_runs_with_our_app_in_an_empty_folder_and_relative_paths_keep_their_meaning(celery_command, tmp_path):
    ((arguments, options, folder),) = celery_command("worker", "-Q", "llm")
    assert arguments == (["-A", "workers.app", "worker", "-Q", "llm"],)
    assert options == {"prog_name": "celery", "auto_envvar_prefix": "CELERY"}
    assert folder == tmp_path / "home" / "run" / "empty" and not list(folder.iterdir())
    assert os.environ["LUMOS_LAUNCH_FOLDER"] == str(tmp_path) and os.environ["PYTHONSAFEPATH"] == "1"


def test_flower_alone_is_set_up_with_the_settings(celery_command, monkeypatch):
    import workers.flower_setup

    settings: list[Settings] = []
    monkeypatch.setattr(workers.flower_setup, "set_up_flower", settings.append)
    for arguments in (("worker", "flower"), ("inspect", "ping"), ()):
        celery_command(*arguments)
    assert settings == []
    monkeypatch.chdir(os.environ["LUMOS_LAUNCH_FOLDER"])
    assert len(celery_command("flower", "--read-only=True")) == 1
    assert [each.home.name for each in settings] == ["home"]


@pytest.mark.parametrize(("name", "value"), [("LUMOS_HOME", "file"), ("LUMOS_CONCURRENCY", "x")])
def test_a_wrong_setting_ends_celery_with_a_line(celery_command, monkeypatch, tmp_path, name, value):
    (tmp_path / "file").touch()
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as end:
        celery_command("worker")
    assert str(end.value).startswith("lumos: ") and value in str(end.value)


def test_modules_that_most_slices_need_are_imported_and_objects_frozen_before_a_fork(monkeypatch):
    imported, frozen = [], []
    monkeypatch.setattr(workers.preload, "import_module", imported.append)
    collector = SimpleNamespace(collect=lambda: frozen.append("collect"), freeze=lambda: frozen.append("freeze"))
    monkeypatch.setattr(workers.preload, "gc", collector)
    workers.preload.preload(Settings(database_url="sqlite:///x"))
    assert set(workers.preload._MODULES) == set(imported) and "uvloop" in imported
    assert frozen == ["collect", "freeze"] and gc.isenabled()
    workers.preload.preload(Settings(database_url="postgresql://h/x"))
    assert imported[-1] == "psycopg"


@pytest.mark.parametrize(
    ("limits", "concurrency", "line"),
    [
        ((292, 292), 64, ""),
        (
            (100, 291),
            64,
            "open files are limited to 291, and LUMOS_CONCURRENCY=64 may need 292: run ulimit -n 292 first (an "
            "administrator has to allow it: the hard limit is 291), or set LUMOS_CONCURRENCY to 63",
        ),
        (
            (103, 103),
            2,
            "open files are limited to 103, and LUMOS_CONCURRENCY=2 may need 106: run ulimit -n 106 first (an "
            "administrator has to allow it: the hard limit is 103), or set LUMOS_CONCURRENCY to 1",
        ),
        (
            (102, 102),
            1,
            "open files are limited to 102, and LUMOS_CONCURRENCY=1 may need 103: run ulimit -n 103 first (an "
            "administrator has to allow it: the hard limit is 102), or lower LUMOS_CONCURRENCY",
        ),
    ],
)
def test_a_low_limit_of_open_files_is_said_with_the_number_that_fits(monkeypatch, limits, concurrency, line):
    from workers import open_files

    changes = []
    resource = SimpleNamespace(
        RLIMIT_NOFILE=7,
        RLIM_INFINITY=-1,
        getrlimit=lambda kind: limits,
        setrlimit=lambda kind, pair: changes.append((kind, pair)),
    )
    monkeypatch.setattr(open_files, "resource", resource)
    assert allow_open_files(Settings(concurrency=concurrency)) == line
    assert changes == ([(7, (limits[1], limits[1]))] if limits[0] < limits[1] else [])
    assert files_needed(64) == 292


@pytest.mark.parametrize(("limits", "changes"), [((-1, -1), []), ((10, -1), [(292, -1)])])
def test_an_unlimited_number_of_open_files_is_enough(monkeypatch, limits, changes):
    from workers import open_files

    made = []
    resource = SimpleNamespace(
        RLIMIT_NOFILE=7, RLIM_INFINITY=-1, getrlimit=lambda _: limits, setrlimit=lambda _, pair: made.append(pair)
    )
    monkeypatch.setattr(open_files, "resource", resource)
    assert allow_open_files(Settings(concurrency=64)) == "" and made == changes


class Worker:
    """A process whose database answers as the test states."""

    def __init__(self, *answers: Exception | None):
        self.settings = Settings(heartbeat_seconds=0.01)
        self._answers = list(answers)
        self.is_present = False
        self.begun = 0

    @property
    def session(self) -> object:
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer
        self.begun += 1
        self.is_present = True
        return object()


def test_an_idle_process_begins_a_session_and_another_when_it_was_declared_dead():
    worker = Worker()
    presence = Presence(worker)
    wait_until(lambda: worker.begun == 1, "it is present")
    worker.is_present = False
    wait_until(lambda: worker.begun == 2, "it is present again")
    (thread,) = [each for each in threading.enumerate() if each.name == "presence"]
    assert thread.daemon
    presence.close()
    assert not thread.is_alive()
    worker.is_present = False
    assert worker.begun == 2


def test_a_process_that_cannot_begin_its_session_says_so_once_for_each_outage(caplog):
    away = DatabaseUnavailable("away")
    worker = Worker(away, away, SpecError("another revision"), None, away)
    with caplog.at_level(logging.WARNING, "workers.presence"):
        presence = Presence(worker)
        wait_until(lambda: worker.begun == 1, "it is present")
        worker.is_present = False
        wait_until(lambda: worker.begun == 2, "it is present again")
        presence.close()
    assert caplog.messages == ["this process is not visible to others yet: away"] * 2


def test_refused_messages_are_a_line_for_each_reason_and_an_outage_of_the_database_is_another(tmp_path, caplog):
    from db.engine.connection import open_database
    from db.engine.migrate import upgrade

    settings = Settings(database_url=f"sqlite:///{tmp_path / 'none' / 'x' / 'lumos.db'}")
    (tmp_path / "none").touch()
    counter = workers.rejection_counter.RejectedMessageCounter(settings)
    counter.add("forged", "first")
    wait_until(lambda: caplog.messages, "it is said")
    counter.close()
    assert all(line.startswith("refused messages not counted yet: ") for line in caplog.messages)
    caplog.clear()
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(database)
    database.close()
    counter = workers.rejection_counter.RejectedMessageCounter(Settings(database_url=database.url))
    counter._counts = {"forged": (2, "b"), "too large": (1, "c")}
    assert counter._write() is True and counter._write() is True
    counter.close()
    assert caplog.messages == [
        "refused 2 messages: forged; the latest: b",
        "refused 1 message: too large; the latest: c",
    ]
