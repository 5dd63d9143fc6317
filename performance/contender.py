"""What every contender is: a process of its own that warms up, does the work once, and prints what that took."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from performance.processes import tree_cpu
from performance.questions import Question, questions
from performance.scenarios import best_schedule
from performance.server import ask

WARM_FIRST, FIRST = 1, 100_001  #: number of the first question, of the warm-up and of what is measured


@dataclass(frozen=True, slots=True)
class Spec:
    """One run."""

    url: str  #: of the fake server, http://…
    folder: str  #: empty, for whatever is stored
    latency: float
    slots: int
    in_flight: int  #: episodes at once, over all processes
    episodes: int
    processes: int = 1
    database_url: str = ""
    broker_url: str = ""
    client_pids: tuple[int, ...] = ()  #: process trees that belong to the client, this one aside
    server_pids: tuple[int, ...] = ()  #: process trees of the database server and the broker
    option: str = ""  #: which variant of the contender

    @property
    def path(self) -> Path:
        return Path(self.folder)

    def warm_up(self) -> list[Question]:
        return questions(WARM_FIRST, 2 * self.in_flight)

    def work(self) -> list[Question]:
        return questions(FIRST, self.episodes)


@dataclass(slots=True)
class Measurement:
    """What a run took."""

    calls: int  #: that reached the server
    needed: int
    episodes: int
    right: int  #: final answers that were checked and right
    cpu: float  #: CPU seconds of the client's processes
    server_cpu: float  #: CPU seconds of database server and broker
    seconds: float  #: from the first call at the server until everything was stored
    before: float  #: seconds from the start of the work to the first call
    best: float  #: seconds of the best schedule
    extra: dict = field(default_factory=dict)

    @property
    def cpu_per_1000(self) -> float:
        return 1000 * (self.cpu + self.server_cpu) / self.calls

    @property
    def client_cpu_per_1000(self) -> float:
        return 1000 * self.cpu / self.calls

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    @property
    def fill(self) -> float:
        """Best schedule / actual time."""
        return self.best / self.seconds


class Meter:
    """Measures a run. It is started just before the work; `stop` returns the measurement."""

    def __init__(self, spec: Spec, own_pid: int):
        self.spec, self.clients = spec, (own_pid, *spec.client_pids)
        ask(spec.url, "/reset")
        self.cpu, self.server_cpu = self._read_cpu()
        self.began = time.time()

    def _read_cpu(self) -> tuple[float, float]:
        return sum(map(tree_cpu, self.clients)), sum(map(tree_cpu, self.spec.server_pids))

    def stop(self, right: int, end_time: float | None = None, **extra) -> Measurement:
        """Return the measurement. `end_time`: when the last episode was stored; None: now."""
        end = end_time or time.time()
        cpu, server_cpu = self._read_cpu()
        stats, work = ask(self.spec.url, "/stats"), self.spec.work()
        calls = [question.calls for question in work]
        return Measurement(
            calls=int(stats["calls"]),
            needed=sum(calls),
            episodes=len(work),
            right=right,
            cpu=cpu - self.cpu,
            server_cpu=server_cpu - self.server_cpu,
            seconds=end - stats["first_call_at"],
            before=stats["first_call_at"] - self.began,
            best=best_schedule(calls, self.spec.slots, self.spec.latency),
            extra={**extra, "most_running": stats["most_running"], "most_waiting": stats["most_waiting"]},
        )


def main(run: Callable[[Spec], Measurement]) -> None:
    """The command line of a contender: its Spec as JSON, the result as the last line it prints."""
    values = json.loads(sys.argv[1])
    for name in ("client_pids", "server_pids"):
        values[name] = tuple(values.get(name, ()))
    print(json.dumps(asdict(run(Spec(**values)))))
