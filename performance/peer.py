"""Plain Celery at the same work. Option `threads`: one process with a thread per episode; `prefork`: 16 processes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from performance.celery_worker import start_worker
from performance.contender import FIRST, WARM_FIRST, Measurement, Meter, Spec, main
from performance.questions import Question
from performance.store import Store

PREFORK = 16


def submit(work: Sequence[Question]) -> None:
    from performance.peer_app import app

    with app.connection_for_write() as connection, app.amqp.Producer(connection) as producer:
        for question in work:
            app.send_task("episode", (question.number,), producer=producer)


def wait(store: Store, first: int, count: int, limit: float = 300.0) -> tuple[int, float]:
    """Until so many episodes are stored: how many are right, and when the last was stored. Raises RuntimeError."""
    until = time.monotonic() + limit
    while True:
        stored_count, right, latest = store.counts(first)
        if stored_count >= count:
            return right, latest
        if time.monotonic() > until:
            raise RuntimeError(f"{stored_count} of {count} episodes after {limit:g} s")
        time.sleep(0.1)


def _run(spec: Spec) -> Measurement:
    variables = {
        "PEER_BROKER_URL": spec.broker_url,
        "PEER_URL": spec.url,
        "PEER_STORE": str(spec.path / "peer.db"),
        "PEER_IN_FLIGHT": str(spec.in_flight),
    }
    os.environ.update(variables)
    store = Store(spec.path / "peer.db")
    threads = spec.option == "threads"
    options = ["-P", "threads", "-c", str(spec.in_flight)] if threads else ["-P", "prefork", "-c", str(PREFORK)]
    with start_worker("performance.peer_app", options, spec.path / "peer.log", variables):
        warm, work = spec.warm_up(), spec.work()
        submit(warm)
        wait(store, WARM_FIRST, len(warm))
        meter = Meter(spec, os.getpid())
        submit(work)
        right, end_time = wait(store, FIRST, len(work))
        return meter.stop(right, end_time)


if __name__ == "__main__":
    main(_run)
