"""A copy made while others write, files that others cannot read, and databases that can only be read."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from db.engine.backup import backup
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.batch import Batch
from db.queue.commit import commit
from lumos_queue.cli.main import main
from lumos_queue.errors import SpecError
from tests.claims import claim, finish, holder, new_job
from tests.faults.disks import small_disk

ROOT = Path(__file__).resolve().parents[2]
_libc = ctypes.CDLL(None)


def made(folder: Path):
    database = open_database(f"sqlite:///{folder / 'lumos.db'}")
    upgrade(database)
    return database


def done(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        items, episodes = (
            connection.execute(query).fetchone()[0]
            for query in (
                "SELECT count(*) FROM item WHERE state = 'done'",
                "SELECT count(*) FROM episode WHERE ending = 'answered'",
            )
        )
        assert items == episodes
        return items


def test_a_backup_has_what_copying_the_file_would_lose(tmp_path):
    database = made(tmp_path)
    job = new_job(database, tasks=300)
    who, written, stop = holder(database, job), [0], threading.Event()

    def work() -> None:
        while not stop.is_set() and (items := claim(database, who, 3)):
            commit(database, who, Batch({one.id: one.claim for one in items}, finished=list(map(finish, items))))
            written[0] += len(items)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        while written[0] < 60:
            assert writer.is_alive()
        before = written[0]
        file = tmp_path / "copy.db"
        backup(database, file)
        after = written[0] + 3  # committed, and not yet counted
    finally:
        stop.set()
        writer.join()
    assert before <= done(file) <= after
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir() if "part" in one.name or "copy" in one.name) == ["copy.db"]
    shutil.copy(tmp_path / "lumos.db", tmp_path / "by-hand.db")
    with pytest.raises((AssertionError, sqlite3.DatabaseError)):
        assert done(tmp_path / "by-hand.db") >= before
    with pytest.raises(SpecError, match="exists already"):
        backup(database, file)
    with pytest.raises(SpecError, match="Cannot write in"):
        backup(database, tmp_path / "nowhere" / "copy.db")
    database.close()


def test_a_postgresql_database_is_left_to_its_own_program(postgres_url, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_DATABASE_URL", postgres_url.replace("postgres:@", "postgres:secret@"))
    assert main(["db", "backup", str(tmp_path / "copy")]) == 2
    said = capsys.readouterr().err
    assert "pg_dump --format=custom" in said and "--username=postgres" in said and "secret" not in said


def test_files_are_for_this_user_alone(tmp_path):
    before = os.umask(0o000)
    try:
        database = made(tmp_path / "home")
        new_job(database)
    finally:
        os.umask(before)
    modes = {one.name: one.stat().st_mode & 0o777 for one in (tmp_path / "home").iterdir()}
    assert modes == {"lumos.db": 0o600, "lumos.db-wal": 0o600, "lumos.db-shm": 0o600}
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    database.close()
    (tmp_path / "home" / "lumos.db").chmod(0o644)
    made(tmp_path / "home").close()
    assert (tmp_path / "home" / "lumos.db").stat().st_mode & 0o777 == 0o600


@contextmanager
def read_only(disk: Path):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def lumos(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    return code, *capsys.readouterr()


def test_a_database_on_a_read_only_disk_can_be_read_and_says_why_it_cannot_be_changed(monkeypatch, capsys):
    with small_disk() as disk:
        database = made(disk)
        job = new_job(database)
        database.close()
        monkeypatch.setenv("LUMOS_HOME", str(disk))
        with read_only(disk):
            for command in (["jobs"], ["job", job], ["episodes"], ["workers"], ["endpoints"]):
                code, out, err = lumos(capsys, *command, "--json")
                assert code == 0 and json.loads(out), (command, err)
            code, _, err = lumos(capsys, "pause", job)
            assert code == 2 and "is read-only here: it can be read, not changed" in err
            assert sorted(one.name for one in disk.iterdir()) == ["lumos.db"]


def test_a_finished_job_can_be_reported_by_a_user_who_may_only_read(tmp_path, monkeypatch, capsys):
    """As somebody else's database is: neither the file nor its folder can be written."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    replies = {"to be grounded:": "R1 = Calculator(2 + 3)", "": "Subgoal 1: Add."}
    rules = tmp_path / "replies.json"
    rules.write_text(json.dumps([{"contains": part, "reply": reply} for part, reply in replies.items()]))
    model = f"scripted://{rules}"
    wanted = ("evaluate", "wordmath", "--limit", "3", "--formulation", "one-pass")
    code, out, err = lumos(capsys, *wanted, "--planner", model, "--grounder", model, "--json")
    assert code == 0, err
    before = json.loads(out.splitlines()[-1])
    home = tmp_path / "home"
    for file in (*home.glob("lumos.db*"), home):
        file.chmod(0o444 if file != home else 0o555)
        if os.geteuid() == 0:
            os.chown(file, 65534, 65534)
    try:
        names = sorted(one.name for one in home.iterdir())
        commands = (["report", before["job"]], ["jobs"], ["show", f"{before['job']}-0"], ["cancel", before["job"]])
        *reading, (code, _, err) = as_somebody_else(home, *commands)
        assert [code for code, _, _ in reading] == [0, 0, 0], reading
        assert json.loads(reading[0][1]) == before
        assert code == 2 and "is read-only here" in err
        assert sorted(one.name for one in home.iterdir()) == names
    finally:
        home.chmod(0o700)


#: Prints exit code, output and errors of each command.
COMMANDS = """
import contextlib, io, json, sys
from lumos_queue.cli.main import main
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*command, "--json"])
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def as_somebody_else(home: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """By a process that the modes of files bind, as they bind everybody but root."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LUMOS_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", COMMANDS, json.dumps(commands)],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: _libc.prctl(24, 1),
    )  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: root keeps its name and loses its way around modes
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_writes_beside_a_read_only_file_are_never_overlooked(monkeypatch, capsys):
    """What a killed process left in the log: it is read, or the command says that it cannot be."""
    with small_disk() as disk, small_disk() as other:
        database = made(disk)
        job = new_job(database)
        for kept in (("lumos.db", "lumos.db-wal", "lumos.db-shm"), ("lumos.db", "lumos.db-wal")):
            for name in ("lumos.db", "lumos.db-wal", "lumos.db-shm"):
                (other / name).unlink(missing_ok=True)
            for name in kept:
                shutil.copy(disk / name, other / name)
            monkeypatch.setenv("LUMOS_HOME", str(other))
            with read_only(other):
                code, out, err = lumos(capsys, "jobs", "--json")
                assert (code == 0 and job in out) or (code == 2 and "lumos.db-wal" in err), (kept, code, out, err)
        assert code == 2 and "B of writes that are not in it yet" in err
        database.close()


def test_a_postgresql_server_that_takes_no_writes_can_be_read(postgres_server, postgres_url, monkeypatch, capsys):
    database = open_database(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    job = new_job(database)
    database.close()
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    monkeypatch.setenv("LUMOS_DATABASE_URL", postgres_url)
    for command in (["jobs"], ["job", job], ["episodes"], ["workers"]):
        code, out, err = lumos(capsys, *command, "--json")
        assert code == 0 and json.loads(out), (command, err)
    code, _, err = lumos(capsys, "pause", job)
    assert code == 2 and "read-only" in err
