"""Memory at 256 in flight: the largest proportional set size of one process that works, for a job and for a longer one.

Option `embedded` or `deployed` of the contender says which process; sampling costs CPU, so nothing else is measured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from tempfile import TemporaryDirectory

import psutil

from performance import deployed_run, embedded_run
from performance.contender import Measurement, Spec, main
from performance.processes import pss
from performance.runs import last_line
from performance.scenarios import SCENARIOS
from performance.server import start_server
from performance.servers import Servers

EPISODES, TIMES = 256, 10
SAMPLE_SECONDS = 0.25


class Peak(threading.Thread):
    """Looks at some processes again and again; `bytes` is the most that one of them had."""

    def __init__(self, pids: Callable[[], Iterable[int]]):
        super().__init__(daemon=True)
        self.pids, self.bytes = pids, 0
        self._stop_looking = threading.Event()

    def run(self) -> None:
        while not self._stop_looking.wait(SAMPLE_SECONDS):
            for pid in self.pids():
                try:
                    self.bytes = max(self.bytes, pss(pid))
                except (OSError, ValueError):
                    continue  # gone meanwhile

    def stop(self) -> int:
        self._stop_looking.set()
        self.join()
        return self.bytes


def _run(spec: Spec) -> Measurement:
    process = psutil.Process()
    if spec.option == "deployed":
        # The children of the worker, which do the work: not the worker itself, which is larger and does not grow.
        peak = Peak(lambda: [child.pid for worker in process.children() for child in worker.children()])
        run = deployed_run.run
    else:
        peak, run = Peak(lambda: [process.pid]), embedded_run.run
    peak.start()
    measurement = run(replace(spec, option=""))
    measurement.extra["pss"] = peak.stop()
    return measurement


def measure(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """By goal: MB of the short job, and the long one's share of that."""
    figures: dict[str, list[float]] = {}
    scenario = SCENARIOS["D"]
    episodes = EPISODES // (4 if quick else 1)
    for _ in range(pairs):
        for name, option in (("embedded", "embedded"), ("worker", "deployed")):
            if option == "deployed" and servers is None:
                continue
            sizes = []
            for count in (episodes, TIMES * episodes):
                with start_server(scenario.latency, scenario.slots) as url, TemporaryDirectory() as folder:
                    spec = Spec(url, folder, scenario.latency, scenario.slots, scenario.slots, count, option=option)
                    if option == "deployed":
                        assert servers
                        spec = replace(spec, database_url=servers.postgres.fresh(), broker_url=servers.redis.fresh())
                    sizes.append(last_line("memory", asdict(spec))["extra"]["pss"])
            figures.setdefault(f"memory-{name}", []).append(sizes[0] / 1e6)
            figures.setdefault(f"memory-growth-{name}", []).append(sizes[1] / sizes[0])
    return figures


if __name__ == "__main__":
    main(_run)
