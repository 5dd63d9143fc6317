"""`python -m tests.kills.sums [--deeds 50] [--seed 0] [--url postgresql://…]`: jobs that are killed, cancelled, paused,
resumed, requeued by class, rerun, extended and removed at random; after each deed the sums of all jobs are recounted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.queue.recount import recount
from lumos_queue.settings import Settings
from tests import scripted_models
from tests.fake_endpoint import FakeEndpoint, digest
from tests.kills.killed_child import end_sessions

ROOT = Path(__file__).resolve().parents[2]
DEEDS = ("kill", "kill", "kill", "cancel", "pause", "resume", "requeue", "extend", "rerun", "rm")


class Faulty:
    """Models that refuse every seventh prompt until `is_fixed`: its episode ends with infra_error."""

    def __init__(self) -> None:
        self.is_fixed = False

    def reply(self, prompt: str) -> str | int:
        return (
            422 if not self.is_fixed and int(digest(prompt)[:8], 16) % 7 == 0 else scripted_models.step_by_step(prompt)
        )


class Site:
    """A database, a model server, and the command line with both."""

    def __init__(self, folder: Path, url: str, server: FakeEndpoint, seed: int):
        self.settings = Settings(home=folder, database_url=url)
        self.server, self.draw = server, random.Random(seed)
        self.database: Database = open_database(self.settings.database)
        upgrade(self.database)
        self.environment = {
            **os.environ,
            "LUMOS_HOME": str(folder),
            "LUMOS_DATABASE_URL": self.settings.database,
            "LUMOS_POLL_SECONDS": "0.1",
            "PYTHONPATH": str(ROOT),
            "LUMOS_CONCURRENCY": "8",
        }

    def start(self, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        with self.start(*arguments, "--json") as process:
            out, err = process.communicate(timeout=300)
        lines = out.strip().splitlines()
        report = json.loads(lines[-1]) if lines else {}
        if process.returncode not in (0, 2, 3) or "Traceback" in err:
            raise RuntimeError(f"{' '.join(arguments)}: exit code {process.returncode}: {err[-2000:]}")
        return process.returncode, report, err

    def jobs(self) -> list[str]:
        return [job["job"] for job in self.run("jobs", "--limit", "100")[1]["jobs"]]

    def kill(self, *arguments: str) -> bool:
        """Start a command and kill it after one to five seconds; return whether it was still at work."""
        with self.start(*arguments) as process:
            time.sleep(self.draw.uniform(1.0, 5.0))
            alive = process.poll() is None
            if alive:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        end_sessions(self.settings)
        return alive

    def differences(self) -> list[str]:
        return [
            f"{job}: {difference}" for job, job_differences in recount(self.database) for difference in job_differences
        ]


def make_evaluation(site: Site, number: int) -> tuple[str, ...]:
    return (
        "evaluate",
        "wordmath",
        "--planner",
        site.server.tgi,
        "--grounder",
        site.server.tgi,
        "--limit",
        "40",
        "--samples",
        "2",
        "--temperature",
        "0.5",
        "--seed",
        str(number),
    )


def carry_out(site: Site, deed: str, number: int) -> str:
    """Carry a deed out on a random job; returns the outcome as text."""
    jobs = site.jobs()
    if deed == "kill" and (len(jobs) < 3 or site.draw.random() < 0.3):
        return "killed" if site.kill(*make_evaluation(site, number)) else "was done"
    job = site.draw.choice(jobs)
    if deed == "kill":
        return "killed" if site.kill("resume", job) else "was done"
    if deed == "requeue":
        return _name_code(site.run("resume", job, "--only", "refused")[0])
    if deed == "extend":
        limit = str(site.draw.randrange(10, 60))
        if site.draw.random() < 0.5:
            return "killed" if site.kill("extend", job, "--limit", limit) else "was done"
        return _name_code(site.run("extend", job, "--limit", limit, "--samples", "2")[0])
    if deed == "rerun":
        return "killed" if site.kill("rerun", job, "--where", "score=0", "--seed", str(number)) else "was done"
    if deed == "rm":
        return _name_code(site.run("rm", job, "--yes")[0]) if len(jobs) > 4 else "kept"
    if deed == "resume":
        site.server.latency = 0.0
        code = site.run("resume", job)[0]
        site.server.latency = 0.03
        return _name_code(code)
    return _name_code(site.run(deed, job)[0])


def _name_code(code: int) -> str:
    return {0: "done", 2: "refused", 3: "incomplete"}.get(code, f"exit code {code}")


def strike(folder: Path, url: str, deeds: int, seed: int) -> bool:
    """Carry out so many deeds; return whether the sums of all jobs equalled those of their rows after each."""
    models, wrong, outcome_counts = Faulty(), 0, Counter[str]()
    with FakeEndpoint(models.reply, latency=0.03) as server:
        site = Site(folder, url, server, seed)
        site.run(*make_evaluation(site, 0))
        for number in range(1, deeds + 1):
            deed = site.draw.choice(DEEDS)
            models.is_fixed = site.draw.random() < 0.3
            outcome_counts[f"{deed}: {carry_out(site, deed, number)}"] += 1
            if differences := site.differences():
                wrong += 1
                print(f"after deed {number}, {deed}: {differences[:3]}")
        job_rows = [row for _, row in zip(range(100), site.run("jobs", "--limit", "100")[1]["jobs"], strict=False)]
        items = sum(job_row["done"] for job_row in job_rows)
        site.database.close()
    print(
        f"{deeds} deeds on {site.database.engine.dialect.name}, {len(job_rows)} jobs, {items} items done; after {wrong}"
    )
    print(
        "of them sums differed from the rows;",
        ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcome_counts.items())),
    )
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deeds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", default="", help="of an empty database; default: SQLite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lumos-sums-") as folder:
        return 0 if strike(Path(folder), options.url, options.deeds, options.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
