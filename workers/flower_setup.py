"""Configure Flower: readable slices with links to their jobs, our metrics, and a login for every page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from types import FunctionType
from typing import TypeAlias

import prometheus_client
from flower import urls
from flower.options import options
from flower.views.monitor import Metrics
from flower.views.tasks import TasksView, TaskView
from tornado import web
from tornado.routing import URLSpec

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from workers.broker_refusals import quiet_logs
from workers.flower_tasks import FlowerTask, JobWords, TaskFormat
from workers.metrics import DeploymentCollector

COLUMNS = "name,args,state,result,runtime,received,worker,uuid"
TEMPLATES = Path(__file__).resolve().parent / "flower_templates"
METRICS_SECONDS = 10.0  #: limit of a read of metrics, which is also the limit of Prometheus


#: An address of Flower: a rule, or its pattern and class, which its options may follow.
Address: TypeAlias = URLSpec | tuple[str, type[web.RequestHandler], *tuple[dict[str, object], ...]]


class GuardedMetrics(Metrics):
    """The page `/metrics`, with the same login as Flower's other pages. Flower's own handler requires no login."""

    async def get(self) -> None:
        if not self.current_user:  # raises 401 itself where the login is one of basic authentication
            raise web.HTTPError(401)
        self.application.purge_offline_worker_metrics()
        loop = asyncio.get_running_loop()
        # In a thread: a database that hangs must not stop Flower's pages.
        reading = loop.run_in_executor(None, prometheus_client.generate_latest)
        try:
            text = await asyncio.wait_for(asyncio.shield(reading), METRICS_SECONDS)
        except TimeoutError:
            raise web.HTTPError(503, "the database does not answer") from None
        self.set_header("Content-Type", prometheus_client.CONTENT_TYPE_LATEST)
        self.write(text)  # pyright: ignore[reportUnknownMemberType]  # it may also get a dict without types


class JobTaskView(TaskView):
    """Flower's page of a task, with a link to its job in the explorer."""

    explorer = ""

    def render(self, template_name: str, **values: object) -> None:
        # Our template extends Flower's template of that name, and gets the same values.
        super().render(str(TEMPLATES / template_name), explorer=self.explorer, **values)


class JobTasksView(TasksView):
    """Flower's list of tasks, with links from their jobs to the explorer."""

    explorer = ""

    def render(self, template_name: str, **values: object) -> None:
        super().render(str(TEMPLATES / template_name), explorer=self.explorer, **values)


def set_up_flower(settings: Settings) -> None:
    """Set the defaults of Flower's options. Flower's command line and environment may replace them afterwards."""
    quiet_logs()
    deployment = Deployment(settings)
    options.format_task = _as_function(TaskFormat(JobWords(deployment)))
    options.tasks_columns = COLUMNS
    replacements: dict[type[web.RequestHandler], type[web.RequestHandler]] = {Metrics: GuardedMetrics}
    if settings.web_url:
        JobTaskView.explorer = JobTasksView.explorer = settings.web_url.rstrip("/")
        replacements |= {TaskView: JobTaskView, TasksView: JobTasksView}
    urls.handlers[:] = [_replace(address, replacements) for address in urls.handlers]
    prometheus_client.REGISTRY.register(DeploymentCollector(deployment))


def _replace(address: Address, replacements: Mapping[type[web.RequestHandler], type[web.RequestHandler]]) -> Address:
    """Return the address with our handler, or as it is if `replacements` has none for Flower's handler."""
    if isinstance(address, URLSpec):
        if (replacement := replacements.get(address.handler_class)) is None:
            return address
        own_address = copy(address)
        own_address.target = own_address.handler_class = replacement
        return own_address
    return (address[0], replacements.get(address[1], address[1]), *address[2:])


def _as_function(format_task: TaskFormat) -> FunctionType:
    """Wrap the format in a function, because Flower's option accepts no other callable."""

    def format_slice(task: FlowerTask) -> FlowerTask:
        return format_task(task)

    return format_slice
