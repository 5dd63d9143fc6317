"""How long a step waits until it is durable, with an endpoint that answers at once: embedded, 256 in flight.

Measured from outside: the time of each row's way into the buffer is noted, and again when the commit that took the
buffer has returned. The product knows nothing of it.
"""

from __future__ import annotations

import sys
import time
from statistics import quantiles

import workers.dispatcher  # noqa: F401 - brings the module that commits
from db.journal.buffer import Buffer
from db.queue.commit import commit
from performance.contender import Measurement, Spec, main
from performance.embedded_run import run

waits: list[float] = []  #: seconds, of every step


def watch() -> None:
    """Record the waiting times of all steps in this process permanently."""
    add, take = Buffer.add, Buffer.take
    buffer_times: list[float] = []
    commit_times: list[float] = []

    def noted_add(self: Buffer, *row) -> None:
        buffer_times.append(time.perf_counter())
        add(self, *row)

    def noted_take(self: Buffer):
        commit_times.extend(buffer_times)  # a slice has one commit on its way at a time
        buffer_times.clear()
        return take(self)

    def noted_commit(*arguments, **options):
        result = commit(*arguments, **options)
        now = time.perf_counter()
        waits.extend(now - began for began in commit_times)
        commit_times.clear()
        return result

    Buffer.add, Buffer.take = noted_add, noted_take  # pyright: ignore[reportAttributeAccessIssue]
    users = [m for name, m in sys.modules.items() if name.startswith("workers.") and vars(m).get("commit") is commit]
    if not users:
        raise RuntimeError("no module of workers uses db.queue.commit.commit: look here again")
    for module in users:
        module.commit = noted_commit  # pyright: ignore[reportAttributeAccessIssue]


def _measure_flushes(spec: Spec) -> Measurement:
    watch()
    measurement = run(spec)
    hundredths = quantiles(waits, n=100)
    measurement.extra |= {"flush_p50": 1000 * hundredths[49], "flush_p99": 1000 * hundredths[98], "steps": len(waits)}
    return measurement


if __name__ == "__main__":
    main(_measure_flushes)
