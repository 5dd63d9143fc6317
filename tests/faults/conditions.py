"""Conditions that are easily overlooked: wrong clocks, an old snapshot that stays open, two versions of the code."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from sqlalchemy import text

from tests.faults.groups import ROOT
from tests.faults.lab import Lab, case
from tests.faults.result import Result

SHIFT = 600.0  #: seconds
TIMES = (
    "item.not_before_at",
    "episode.started_at",
    "episode.finished_at",
    "job.started_at",
    "job.finished_at",
    "heartbeat.at",
    "worker_session.started_at",
    "attempt.started_at",
)


@case("clocks ten minutes off, PostgreSQL and Redis")
def clocks_off(lab: Lab, episodes: int = 200, database: str = "postgresql", broker: str = "redis") -> Result:
    """One worker's clock is ahead, the other's is behind, and one worker dies. Only the database's clock may count."""
    with lab.deployment(database, broker, episodes=episodes) as deployment:
        began = time.time()
        (early,) = deployment.start("celery" if broker else "dispatcher", FAULT_CLOCK=str(-SHIFT))
        deployment.start("dispatcher", FAULT_CLOCK=str(SHIFT))
        deployment.submit()
        deployment.wait_for_items(episodes // 4)
        deployment.strike(early)
        early.start()
        deployment.wait_for_jobs()
        result = deployment.result()
        for column in TIMES:
            table, _, name = column.partition(".")
            off = deployment.ask(
                f"SELECT count(*) FROM {table} WHERE {name} > 0 AND ({name} < :low OR {name} > :high)",
                low=began - 60,
                high=time.time() + 60,
            )
            if off:
                result.problems.append(f"{off} rows have a time of the workers' clocks in {column}")
        return result


@case("clocks ten minutes off, SQLite")
def clocks_off_on_sqlite(lab: Lab, episodes: int = 200) -> Result:
    return clocks_off(lab, episodes, database="sqlite", broker="")


@case("a long query on an old snapshot, PostgreSQL")
def long_query(lab: Lab, episodes: int = 300, database: str = "postgresql") -> Result:
    """An analysis begins early and still reads when the job ends: it sees only the rows of its beginning."""
    with lab.deployment(database, episodes=episodes) as deployment:
        deployment.start("dispatcher", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(episodes // 10)
        query = text("SELECT count(*) FROM completion")
        with deployment.database.engine.connect() as analysis:
            if database == "postgresql":
                analysis = analysis.execution_options(isolation_level="REPEATABLE READ")
            count = analysis.execute(query).scalar_one()
            deployment.end_fault()
            deployment.wait_for_jobs()
            assert analysis.execute(query).scalar_one() == count
        return deployment.result()


@case("a long query on an old snapshot, SQLite")
def long_query_on_sqlite(lab: Lab) -> Result:
    return long_query(lab, database="sqlite")


@case("two versions of the code on one database")
def two_versions(lab: Lab, episodes: int = 200) -> Result:
    """A rolling deploy: one worker runs an edited copy with the same behaviour; the other worker dies."""
    with lab.deployment("postgresql", "redis", episodes=episodes, latency=0.2) as deployment:
        new_source = _copy_code(deployment.folder / "other")
        (old,) = deployment.start("celery")
        deployment.start("dispatcher", source=new_source)
        deployment.submit()
        deployment.wait(lambda: deployment.ask(_VERSIONS) == 2, "both versions have begun episodes")
        deployment.wait_for_items(episodes // 4)
        deployment.strike(old)
        deployment.wait_for_jobs()
        result = deployment.result()
        attempts = deployment.ask("SELECT count(*) FROM attempt WHERE number > 1")
        if attempts:
            result.problems.append(f"{attempts} episodes were started again, though the versions send the same calls")
        return result


_VERSIONS = "SELECT count(DISTINCT code_version) FROM attempt"


def _copy_code(folder: Path) -> Path:
    for name in ("lumos_queue", "workers", "db", "migrations"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "lumos_queue" / "util" / "version.py").open("a", encoding="utf-8") as file:
        file.write("\n# A line that changes nothing but the digest.\n")
    return folder
