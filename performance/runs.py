"""Contenders by name, one run of each in a process of its own, and rounds in which each has a `ref` beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from lumos_queue.util.process import die_with_parent
from performance.contender import Measurement, Spec
from performance.scenarios import Scenario
from performance.server import start_server
from performance.servers import Servers

LIMIT_SECONDS = 400


@dataclass(frozen=True, slots=True)
class Contender:
    module: str
    option: str = ""
    processes: int = 1
    broker: bool = False
    postgres: bool = False
    share: float = 1.0  #: of a scenario's episodes: the slow ones get fewer


#: In the order of a round. Those with something in common stand side by side.
CONTENDERS = {
    "ref": Contender("ref"),
    "workers-1": Contender("deployed_run", broker=True, postgres=True),
    "workers-2": Contender("deployed_run", processes=2, broker=True, postgres=True),
    "embedded": Contender("embedded_run"),
    "ref-fsync": Contender("ref", option="fsync"),
    "at-end": Contender("embedded_run", option="at-end"),
    "threads": Contender("peer", option="threads", broker=True),
    "workers-4": Contender("deployed_run", processes=4, broker=True, postgres=True),
    "prefork": Contender("peer", option="prefork", broker=True, share=0.2),
    "flushes": Contender("flushes"),
    "inspect": Contender("inspect_peer", share=0.25),
}


class RunFailed(Exception):
    """Raised when a contender did not do its work; says why in a line."""


def run(name: str, scenario: Scenario, servers: Servers | None, quick: bool = False) -> Measurement:
    """One run of a contender. Raises RunFailed, also when an answer was wrong."""
    contender = CONTENDERS[name]
    if servers is None and (contender.broker or contender.postgres):
        raise RunFailed("there is no Redis or PostgreSQL here")
    episodes = max(16, round(scenario.episodes * contender.share / (4 if quick else 1)))
    with (
        start_server(scenario.latency, scenario.slots) as url,
        tempfile.TemporaryDirectory(prefix="lumos-performance-") as folder,
    ):
        spec = Spec(
            url,
            folder,
            scenario.latency,
            scenario.slots,
            scenario.slots,
            episodes,
            contender.processes,
            option=contender.option,
        )
        values = asdict(spec)
        if servers and contender.broker:
            values["broker_url"] = servers.redis.fresh()
            values["server_pids"] = servers.pids if contender.postgres else servers.pids[:1]
        if servers and contender.postgres:
            values["database_url"] = servers.postgres.fresh()
        measurement = Measurement(**last_line(contender.module, values))
    if measurement.right != measurement.episodes:
        raise RunFailed(
            f"{measurement.episodes - measurement.right} of {measurement.episodes} answers are wrong or missing"
        )
    return measurement


def last_line(module: str, spec: dict) -> dict:
    """Return the measurement of a contender. Raises RunFailed."""
    command = [sys.executable, "-m", f"performance.{module}", json.dumps(spec)]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_SECONDS, preexec_fn=die_with_parent
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"not done after {LIMIT_SECONDS} s") from None
    if process.returncode:
        raise RunFailed((process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1][:300])
    return json.loads(process.stdout.splitlines()[-1])


@dataclass(frozen=True, slots=True)
class Pair:
    """A run and the `ref` run right before or after it."""

    own: Measurement
    ref: Measurement


def order(names: Sequence[str], backwards: bool) -> list[list[str]]:
    """A round: groups `x ref y` in which both are next to `ref`; every other round runs backwards."""
    contenders = [name for name in CONTENDERS if name in names and name != "ref"]
    if backwards:
        contenders.reverse()
    return [
        [first, "ref", *second]
        for first, *second in (contenders[index : index + 2] for index in range(0, len(contenders), 2))
    ]


def run_round(
    names: Sequence[str], scenario: Scenario, number: int, servers: Servers | None, quick: bool, tell: Callable
) -> tuple[dict[str, Pair], dict[str, str]]:
    """Each contender's pair, and why there is none where it failed."""
    pairs, failures = {}, {}
    for group in order(names, backwards=number % 2 == 1):
        measurements: dict[str, Measurement] = {}
        for name in group:
            try:
                measurements[name] = run(name, scenario, servers, quick)
                tell(f"{scenario.name} {number + 1}: {name}")
            except RunFailed as reason:
                failures[name] = str(reason)
                tell(f"{scenario.name} {number + 1}: {name} failed: {reason}")
        for name in group:
            if name != "ref" and name in measurements and "ref" in measurements:
                pairs[name] = Pair(measurements[name], measurements["ref"])
    return pairs, failures
