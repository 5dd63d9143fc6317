"""A deployment under faults: a database with witnesses, an endpoint, worker groups, jobs, and their costs."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import DatabaseFailure
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, read_rows, submit
from tests.faults import witness
from tests.faults.costs import compute_result
from tests.faults.endpoint import Endpoint
from tests.faults.groups import ROOT, Group
from tests.faults.invariants import CLOCK
from tests.faults.result import Result
from tests.gold_agent import gold_replies
from tests.services import wait_until
from workers.notify import notify_workers

#: Short, so that a case takes seconds; only the order of the three matters.
HEARTBEAT, FENCE, LEASE = 0.5, 2.0, 3.0
CONCURRENCY = 16


class Deployment:
    """A context manager, which ends all its processes."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        broker_url: str = "",
        *,
        seed: int = 0,
        episodes: int = 200,
        formulation: str = "iterative",
        split: str = "test",
        latency: float = 0.15,
        endpoint: str = "tests.fake_endpoint",
        **settings: Any,
    ):
        """The endpoint knows the replies to the first `episodes` tasks. `settings` become LUMOS_* of the workers."""
        self.folder, self.broker_url, self.began = folder, broker_url, time.monotonic()
        self.pick = random.Random(seed)
        self.database = open_database(database_url)
        upgrade(self.database)
        witness.install(self.database)
        self.replies: dict[str, str | int] = {}
        self._rows: dict[str, Rows] = {}
        self._know(episodes, formulation, split)
        self._request = (episodes, formulation, split)
        self._extra_jobs: list[tuple[int, str, str]] = []
        self._endpoint_options = (latency, endpoint)
        values = {
            "home": folder,
            "database_url": database_url,
            "broker_url": broker_url,
            "concurrency": CONCURRENCY,
            "poll_seconds": 0.3,
            "heartbeat_seconds": HEARTBEAT,
            "fence_seconds": FENCE,
            "lease_seconds": LEASE,
        } | settings
        self.settings = Settings(**values)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("LUMOS_")},
            **{f"LUMOS_{name.upper()}": str(value) for name, value in values.items()},
        }
        self.groups: list[Group] = []
        self.jobs: list[str] = []
        self.faults: list[float] = []  #: end of each fault (Unix seconds), from which the recovery time counts
        self.deaths = 0  #: processes with items that were killed, or stopped for longer than their lease
        self.expected = "done"  #: state that each item should reach
        self.quarantined = 0  #: items that should be in quarantine instead
        self.failing = 0  #: items that should end as infra_error, because the endpoint fails for them

    def rows(self, split: str) -> Rows:
        """Return the tasks of a split of the generated benchmark."""
        if split not in self._rows:
            self._rows[split] = read_rows(open_benchmark("wordmath"), None, split, False)
        return self._rows[split]

    def _know(self, episodes: int, formulation: str, split: str) -> None:
        rows = self.rows(split)
        self.replies |= gold_replies(rows.benchmark, rows.tasks[:episodes], formulation)

    def add_job(self, episodes: int, formulation: str, split: str) -> None:
        """Add a second job for `submit`, whose replies the endpoint knows. Call this before the `with` block."""
        self._know(episodes, formulation, split)
        self._extra_jobs.append((episodes, formulation, split))

    def __enter__(self) -> Deployment:
        self.endpoint = Endpoint(self.folder, self.replies, *self._endpoint_options)
        return self

    def __exit__(self, *_: object) -> None:
        for group in self.groups:
            group.kill()
        self.endpoint.stop()
        self.database.close()

    # Workers and jobs

    def start(self, *kinds: str, source: Path = ROOT, **environment: str) -> list[Group]:
        """Start a worker group of each kind (`groups.COMMANDS`)."""
        new = []
        for kind in kinds:
            name = f"{kind}-{len(self.groups)}"
            new.append(Group(kind, name, self.folder, {**self.environment, **environment}, source))
            self.groups.append(new[-1])
        return new

    def submit(self, *, with_notice: bool = True) -> str:
        """Submit the job, and the jobs of `add_job`; return the id of the first."""
        agent = Agent(roles={"planner": self.endpoint.tgi, "grounder": self.endpoint.tgi}, domain="maths")
        for episodes, formulation, split in (self._request, *self._extra_jobs):
            rows = self.rows(split)
            job = Evaluate(Infer("wordmath", rows.digest, split, formulation, agent, limit=episodes))
            identifier, _ = submit(self.database, self.settings, job, rows)
            self.jobs.append(identifier)
            if with_notice:
                self.notify(identifier, episodes)
        return self.jobs[0]

    def notify(self, job: str, items: int) -> None:
        notify_workers(self.settings, "evaluate", job, items)

    def command(self, *arguments: str) -> float:
        """Run `lumos` with these arguments; return the time of its end (Unix seconds)."""
        command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments]
        process = subprocess.run(command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert process.returncode == 0, process.stdout + process.stderr
        return time.time()

    # Queries

    def ask(self, query: str, **values: Any) -> Any:
        """Return the first column of the first row; retry for 30 s while the database is away."""
        until = time.monotonic() + 30
        while True:
            try:
                with self.database.engine.connect() as connection:
                    return connection.execute(text(query), values).scalar()
            except DatabaseFailure:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def count_done(self) -> int:
        return self.ask("SELECT count(*) FROM item WHERE state = 'done'")

    def wait(self, happens: Callable[[], Any], description: str, seconds: float = 60.0) -> None:
        wait_until(happens, description, seconds, 0.1)

    def wait_for_items(self, count: int, seconds: float = 90.0) -> None:
        self.wait(lambda: self.count_done() >= count, f"{count} items are done", seconds)

    def wait_for_jobs(self, seconds: float = 240.0, state: str = "done") -> None:
        """Wait until all jobs are in that state."""
        query = "SELECT count(*) FROM job WHERE state = :state"
        self.wait(lambda: self.ask(query, state=state) == len(self.jobs), f"every job is {state}", seconds)

    # Faults

    def end_fault(self) -> None:
        self.faults.append(time.time())

    def strike(self, group: Group, holder_only: bool = False) -> None:
        """Kill a group, or only its process that holds items."""
        self.deaths += 1
        group.kill_holder() if holder_only else group.kill()
        self.end_fault()

    def estimate_wasted(self, deaths: int) -> int:
        """Return how many calls so many deaths may lose: calls in flight, and calls that wait for a commit."""
        return deaths * 2 * CONCURRENCY

    def estimate_unwritten(self, processes: int) -> int:
        """Return how many calls processes may make that cannot write: their episodes continue to their ends."""
        return processes * CONCURRENCY * self.ask("SELECT max(calls) FROM episode")

    def result(self, *, bound: int | None = None, repeats: int = 0) -> Result:
        """Compute the result after the end of all jobs; a worker must be alive, to declare dead workers dead.

        `bound`: how many wasted calls are no failure; by default as many as the deaths explain; negative: no bound.
        `repeats`: how many calls may repeat a stored reply, from processes that do not know of it yet.
        """
        silent = (
            "SELECT count(*) FROM worker_session w JOIN heartbeat h ON h.session = w.id WHERE w.ended_at IS NULL "
            f"AND h.at < {CLOCK[self.database.engine.dialect.name]} - :seconds"
        )
        # Half a lease: otherwise a lease could run out between two queries.
        self.wait(lambda: self.ask(silent, seconds=LEASE / 2) == 0, "dead workers are declared dead", 30)
        if bound is None:
            bound = self.estimate_wasted(self.deaths)
        return compute_result(self, None if bound < 0 else bound, repeats)
