"""Flower as this project runs it: slices in words, our metrics beside its own, and nothing without the login."""

from __future__ import annotations

import asyncio

import prometheus_client
from flower import urls
from flower.options import options
from flower.views.monitor import Metrics
from tornado import web

from lumos_queue.settings import Settings
from workers.flower_tasks import JobWords, TaskFormat
from workers.metrics import DeploymentCollector

COLUMNS = "name,args,state,result,runtime,received,worker,uuid"
METRICS_SECONDS = 10.0  #: for which a reader of metrics waits: Prometheus' own limit


class GuardedMetrics(Metrics):
    """`/metrics` for those who have the login, as every page of Flower; Flower's own asks for none."""

    async def get(self) -> None:
        if not self.current_user:  # raises 401 itself where the login is one of basic authentication
            raise web.HTTPError(401)
        self.application.purge_offline_worker_metrics()  # type: ignore[attr-defined]
        loop = asyncio.get_running_loop()
        # In a thread: a database that hangs must not stop Flower's pages.
        reading = loop.run_in_executor(None, prometheus_client.generate_latest)
        try:
            text = await asyncio.wait_for(asyncio.shield(reading), METRICS_SECONDS)
        except TimeoutError:
            raise web.HTTPError(503, "the database does not answer") from None
        self.set_header("Content-Type", prometheus_client.CONTENT_TYPE_LATEST)
        self.write(text)


def set_up_flower(settings: Settings) -> None:
    """Before Flower reads its command line and environment, which may say otherwise."""
    options.format_task = _as_function(TaskFormat(JobWords(settings)))
    options.tasks_columns = COLUMNS
    urls.handlers[:] = [
        (r"/metrics", GuardedMetrics) if isinstance(one, tuple) and one[0] == r"/metrics" else one
        for one in urls.handlers
    ]
    prometheus_client.REGISTRY.register(DeploymentCollector(settings))


def _as_function(format_task: TaskFormat):
    """Flower's option takes a function and nothing else that can be called."""

    def format_slice(task):
        return format_task(task)

    return format_slice
