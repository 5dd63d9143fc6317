"""Flower with our options: its pages, the links to the explorer, and the page of metrics behind the login."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import prometheus_client
import pytest
from flower import urls
from flower.options import options
from flower.views.monitor import Metrics
from flower.views.tasks import TasksView, TaskView
from tornado import web

import workers.flower_setup
from lumos_queue.settings import Settings
from workers.flower_setup import COLUMNS, GuardedMetrics, JobTasksView, JobTaskView, set_up_flower
from workers.metrics import DeploymentCollector


@pytest.fixture
def flower(monkeypatch):
    """Set up Flower with these settings; return the class that answers each of its own classes' addresses."""
    registered: list = []
    monkeypatch.setattr(prometheus_client.REGISTRY, "register", registered.append)
    monkeypatch.setattr(JobTaskView, "explorer", "")
    monkeypatch.setattr(JobTasksView, "explorer", "")
    before = list(urls.handlers), options.format_task, options.tasks_columns
    quieted: list[int] = []
    monkeypatch.setattr(workers.flower_setup, "quiet_logs", lambda: quieted.append(1))

    def set_up(**fields: str) -> SimpleNamespace:
        set_up_flower(Settings(**fields))
        classes = [getattr(handler, "handler_class", None) or handler[1] for handler in urls.handlers]
        return SimpleNamespace(classes=classes, registered=registered, quieted=quieted)

    yield set_up
    urls.handlers[:], options.format_task, options.tasks_columns = before


def test_flower_shows_our_columns_our_format_and_our_metrics(flower):
    before = len(urls.handlers)
    made = flower()
    assert options.tasks_columns == COLUMNS and "result" in COLUMNS.split(",")
    task = SimpleNamespace(args="x", kwargs="{}", result="'3 items finished'", exception=None)
    assert options.format_task(task).result == "3 items finished"
    assert GuardedMetrics in made.classes and Metrics not in made.classes and len(made.classes) == before
    assert TaskView in made.classes and JobTaskView not in made.classes, "without an explorer there are no links"
    assert [type(collector) for collector in made.registered] == [DeploymentCollector] and made.quieted == [1]


def test_jobs_are_links_when_there_is_an_explorer(flower):
    made = flower(web_url="https://jobs.example/X/")
    assert {JobTaskView, JobTasksView, GuardedMetrics} <= set(made.classes)
    assert not {TaskView, TasksView, Metrics} & set(made.classes)
    assert JobTaskView.explorer == JobTasksView.explorer == "https://jobs.example/X"


def test_a_job_is_described_with_the_database_of_the_settings(flower, tmp_path):
    from db.engine.connection import open_database
    from db.engine.migrate import upgrade
    from tests.claims import new_job

    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(database)
    job = new_job(database)
    flower(database_url=database.url)
    task = SimpleNamespace(args=f"['{job}']", kwargs="{}", result=None, exception=None)
    assert options.format_task(task).args == f"wordmath iterative; job {job}, 4 items"
    database.close()


class Page(GuardedMetrics):
    """The page of metrics of a visitor, without a connection."""

    def __init__(self, user: str | None):
        self.purges, self.headers, self.text = 0, {}, b""
        self.application = SimpleNamespace(purge_offline_worker_metrics=self._purge)
        self._user = user

    @property
    def current_user(self) -> str | None:  # type: ignore[override]
        return self._user

    def _purge(self) -> None:
        self.purges += 1

    def set_header(self, name: str, value: str) -> None:  # type: ignore[override]
        self.headers[name] = value

    def write(self, chunk: bytes) -> None:  # type: ignore[override]
        self.text = chunk


def test_a_visitor_who_has_logged_in_reads_metrics(monkeypatch):
    monkeypatch.setattr(prometheus_client, "generate_latest", lambda: b"lumos_database_up 1.0\n")
    page = Page("me")
    asyncio.run(page.get())
    assert (page.text, page.purges) == (b"lumos_database_up 1.0\n", 1)
    assert page.headers == {"Content-Type": prometheus_client.CONTENT_TYPE_LATEST}


def test_a_visitor_without_a_login_reads_none():
    page = Page(None)
    with pytest.raises(web.HTTPError) as error:
        asyncio.run(page.get())
    assert error.value.status_code == 401 and (page.text, page.purges) == (b"", 0)


def test_metrics_of_a_database_that_hangs_are_an_error_of_the_server(monkeypatch):
    import threading

    goes_on = threading.Event()
    monkeypatch.setattr(workers.flower_setup, "METRICS_SECONDS", 0.01)
    monkeypatch.setattr(prometheus_client, "generate_latest", lambda: goes_on.wait(60) and b"")

    async def ask() -> web.HTTPError:
        with pytest.raises(web.HTTPError) as error:
            await Page("me").get()
        goes_on.set()
        return error.value

    error = asyncio.run(ask())
    assert (error.status_code, error.log_message) == (503, "the database does not answer")
