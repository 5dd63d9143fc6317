"""Metrics of a deployment for Prometheus, read from the database at each request (docs/monitoring.md).

The number of labels is bounded: a job has labels only while it is open, an endpoint only while workers use it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from db.engine.errors import reason
from db.queries.monitoring import DeploymentFigures, read_deployment
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import LumosError
from workers.describe import shorten

log = logging.getLogger(__name__)
QUANTILES = (0.5, 0.95, 0.99)
MAX_LABEL = 120  #: characters of an endpoint's address


class DeploymentCollector(Collector):
    """Collects the metrics of a deployment. If the database does not answer, there is only `lumos_database_up 0`."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment
        self._read_lock = threading.Lock()  # one read at a time, however many requests there are

    def describe(self) -> Sequence[Metric]:
        """Return nothing: otherwise registering the collector would read the database."""
        return ()

    def collect(self) -> Iterator[Metric]:
        with self._read_lock:
            began = time.monotonic()
            try:
                figures = self._read()
            except LumosError as error:
                log.warning("no metrics: %s", reason(error))
                figures = None
            seconds = time.monotonic() - began
        yield GaugeMetricFamily("lumos_database_up", "Whether the database answered.", value=float(figures is not None))
        yield GaugeMetricFamily("lumos_read_seconds", "Seconds that reading these figures took.", value=seconds)
        if figures:
            yield from _of_work(figures)
            yield from _of_calls(figures)
            yield from _of_workers(figures)

    def _read(self) -> DeploymentFigures:
        with self._deployment.database.engine.connect() as connection:
            return read_deployment(connection, self._deployment.lease)


def _gauge(name: str, documentation: str, labels: Sequence[str], values: dict[tuple[str, ...], float]) -> Metric:
    family = GaugeMetricFamily(name, documentation, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def _of_work(figures: DeploymentFigures) -> Iterator[Metric]:
    yield _gauge("lumos_jobs", "Jobs by state.", ["state"], {(state,): n for state, n in figures.jobs.items()})
    yield _gauge(
        "lumos_items", "Items of all jobs by state and, of episodes, ending.", ["state", "ending"], {**figures.items}
    )
    yield _gauge(
        "lumos_job_items",
        "Items of each open job by state.",
        ["job", "state"],
        {(job, state): items for job, states in figures.open_jobs.items() for state, items in states.items()},
    )
    yield GaugeMetricFamily(
        "lumos_queue_age_seconds",
        "Seconds for which the oldest due item has been pending; 0: none.",
        value=figures.queue_seconds,
    )
    yield GaugeMetricFamily(
        "lumos_jobs_unattended", "Open jobs with due items on which no worker works.", value=figures.unattended
    )


def _of_calls(figures: DeploymentFigures) -> Iterator[Metric]:
    yield _gauge(
        "lumos_tokens", "Tokens of finished episodes.", ["kind"], {(kind,): n for kind, n in figures.tokens.items()}
    )
    calls = {(role,): float(calls) for role, (calls, _) in figures.calls.items()}
    yield _gauge("lumos_model_calls", "Model calls of finished episodes.", ["role"], calls)
    seconds = {(role,): seconds for role, (_, seconds) in figures.calls.items()}
    yield _gauge("lumos_model_call_seconds", "Seconds of these model calls, added up.", ["role"], seconds)
    yield GaugeMetricFamily(
        "lumos_action_seconds", "Seconds of actions of finished episodes, added up.", value=figures.action_seconds
    )
    yield _gauge(
        "lumos_tool_latency_seconds",
        "Quantiles of the seconds of actions, and of calls of external tools, of the episodes that run now.",
        ["kind", "quantile"],
        {
            (kind, str(quantile)): values[min(int(quantile * len(values)), len(values) - 1)]
            for kind, values in figures.latencies.items()
            if values
            for quantile in QUANTILES
        },
    )


def _of_workers(figures: DeploymentFigures) -> Iterator[Metric]:
    workers = {(state,): float(count) for state, count in figures.workers.items()}
    yield _gauge("lumos_workers", "Worker processes that are alive.", ["state"], workers)
    description = "Worker sessions that were declared dead: their items were retried."
    yield CounterMetricFamily("lumos_leases_lost", description, value=figures.leases_lost)
    calls: dict[tuple[str, ...], float] = {}
    for url, use in figures.endpoints.items():
        states = {"in flight": use.in_flight, "waiting": use.waiting, "late": use.late}
        calls |= {(shorten(url, MAX_LABEL), state): float(count) for state, count in states.items()}
    yield _gauge(
        "lumos_endpoint_calls", "Model calls by endpoint, as of the last heartbeats.", ["endpoint", "state"], calls
    )
    caps = {(shorten(url, MAX_LABEL),): float(cap) for url, cap in figures.caps.items()}
    yield _gauge("lumos_endpoint_cap", "The most calls that an endpoint may have in flight.", ["endpoint"], caps)
    family = CounterMetricFamily("lumos_rejected_messages", "Messages that were dropped unread.", labels=["reason"])
    for why, messages in figures.rejected.items():
        family.add_metric([why], messages)
    yield family
