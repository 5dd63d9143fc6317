"""Helpers of the tests of rollouts and blame: evaluate a scripted agent with planted faults, and run commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.submission.store import Rows, read_rows
from tests.fake_endpoint import FakeEndpoint
from tests.faulty_agent import FaultyAgent
from tests.stored_rows import run_embedded


class WithTasks:
    """A benchmark whose rows are always these tasks."""

    needs_data = False

    def __init__(self, benchmark: Any, tasks: Iterable[Task]):
        self._benchmark, self._tasks = benchmark, tuple(tasks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def read(self, path: Path | None, split: str) -> Iterator[Task]:
        return iter(self._tasks)


def rows_of(benchmark: Any, tasks: Iterable[Task], split: str) -> Rows:
    return read_rows(WithTasks(benchmark, tasks), None, split, False)


def long_rows(least: int, many: int, split: str = "familiar") -> Rows:
    """Return wordmath problems whose gold solutions have at least `least` subgoals."""
    benchmark = open_benchmark("wordmath")
    long = [task for task in benchmark.read(None, split) if len(benchmark.gold(task).steps) >= least]
    return rows_of(benchmark, long[:many], split)


@contextmanager
def servers(agent: FaultyAgent, **options: Any) -> Iterator[tuple[FakeEndpoint, FakeEndpoint]]:
    with FakeEndpoint(agent.plan, **options) as planner, FakeEndpoint(agent.ground, **options) as grounder:
        yield planner, grounder


def evaluate_agent(
    folder: Path,
    rows: Rows,
    planner: Mapping[str, int],
    grounder: Mapping[str, int],
    formulation: str = "iterative",
    url: str = "",
    kind: type[FaultyAgent] = FaultyAgent,
) -> tuple[Database, str]:
    """Evaluate an agent that errs at these steps; return the database in `folder` and the id of the job."""
    with servers(kind(open_benchmark("wordmath"), rows.tasks, planner, grounder)) as (plans, grounds):
        agent = Agent(roles={"planner": plans.tgi, "grounder": grounds.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, rows.split, formulation, agent))
        return run_embedded(folder, job, rows, url)


def command(app, capsys, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a subcommand with --json; return its exit code and its last line."""
    capsys.readouterr()
    code = app(args=[*map(str, arguments), "--json"], standalone_mode=False)
    return code or 0, json.loads(capsys.readouterr().out.splitlines()[-1])


def episodes(database: Database, where: str) -> list:
    return list(stream_episodes(database, parse_where(where)))
