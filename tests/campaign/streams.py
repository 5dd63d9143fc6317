"""Three streams of jobs that always have pending items: the next job follows when few items are pending."""

from __future__ import annotations

import itertools
import json
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from db.engine.connection import Database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.faults.endpoint import Endpoint
from tests.gold_agent import gold_replies
from tests.integration.rollout_jobs import WithTasks
from tests.tcp_proxy import TcpProxy

ITEMS = 150  #: of one job
LOW = 120  #: pending items of a stream below which its next job is submitted


@dataclass(frozen=True)
class Kind:
    """The settings of a stream: the formulation and the model servers of its jobs."""

    name: str
    formulation: str
    scheme: str
    replicas: int


KINDS = (
    Kind("iterative", "iterative", "tgi", 3),
    Kind("one-pass", "one-pass", "openai", 2),
    Kind("plain", "iterative", "tgi", 1),
)


@dataclass
class Replica:
    """A model server behind a proxy."""

    endpoint: Endpoint
    link: TcpProxy


@dataclass
class Stream:
    kind: Kind
    replicas: list[Replica]
    tasks: Iterator[Task]
    jobs: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{replica.link.port}" for replica in self.replicas)
        return f"{self.kind.scheme}://{hosts}" + ("?model=fake" if self.kind.scheme == "openai" else "")

    def submit_next(self, database: Database, settings: Settings) -> tuple[str, int]:
        """Submit the next job; return its id and the number of its items. Raises DatabaseFailure."""
        tasks = list(itertools.islice(self.tasks, ITEMS))
        if not tasks:
            raise RuntimeError(f"the stream {self.kind.name} has no tasks left: make more of them")
        try:
            rows = read_rows(WithTasks(open_benchmark("wordmath"), tasks), None, "train", False)
            agent = Agent(roles={"planner": self.url, "grounder": self.url}, domain="maths")
            infer = Infer("wordmath", rows.digest, "train", self.kind.formulation, agent)
            identifier, _ = submit(database, settings, Evaluate(infer), rows)
        except BaseException:
            self.tasks = itertools.chain(tasks, self.tasks)
            raise
        self.jobs.append(identifier)
        return identifier, len(tasks)


def open_streams(stack: ExitStack, folder: Path, seed: int, tasks: int, latency: float) -> list[Stream]:
    """Open all streams with their servers and proxies, until `stack` closes. `tasks`: limit of tasks of a stream.

    No two tasks have a prompt in common: a second call with a prompt is a repeated call.
    """
    benchmark, all_tasks = open_benchmark("wordmath"), generate("train", len(KINDS) * tasks * 2, seed)
    streams, known_prompts = [], set()
    for kind in KINDS:
        stream_tasks, replies = [], {}
        for task in all_tasks:
            task_replies = gold_replies(benchmark, [task], kind.formulation)
            if known_prompts.isdisjoint(task_replies):
                known_prompts |= task_replies.keys()
                replies |= task_replies
                stream_tasks.append(task)
            if len(stream_tasks) == tasks:
                break
        replicas = [
            _replica(stack, folder / f"{kind.name}-{index}", replies, latency) for index in range(kind.replicas)
        ]
        streams.append(Stream(kind, replicas, iter(stream_tasks)))
    return streams


def _replica(stack: ExitStack, folder: Path, replies: dict[str, str], latency: float) -> Replica:
    folder.mkdir()
    endpoint = Endpoint(folder, replies, latency)
    stack.callback(endpoint.stop)
    return Replica(endpoint, stack.enter_context(TcpProxy(endpoint.port, delay_seconds=0.3)))


class Calls:
    """The calls at all servers, as tests/faults/costs.py expects them from a single server."""

    def __init__(self, endpoints: Iterable[Endpoint]):
        self.endpoints = list(endpoints)

    @property
    def calls(self) -> list[dict]:
        """The answered calls. A call that got an error status is not lost work."""
        return [call for endpoint in self.endpoints for call in endpoint.calls if "status" not in call]

    @property
    def refused(self) -> list[dict]:
        return [call for endpoint in self.endpoints for call in endpoint.calls if "status" in call]


def count_in_flight(endpoint: Endpoint) -> int:
    """Return how many calls a server is answering."""
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/state", timeout=10) as response:
        return json.load(response)["in_flight"]
