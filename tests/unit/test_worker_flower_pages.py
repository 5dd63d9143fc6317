"""Flower's real pages over HTTP with our options: links to jobs, and metrics behind the login."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import prometheus_client
import pytest
from flower import urls
from flower.app import Flower
from flower.events import EventsState
from flower.options import options
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.testing import bind_unused_port

from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.stored_rows import make_tables
from workers.app import make_app
from workers.flower_setup import JobTasksView, JobTaskView, set_up_flower

TASK = "0b1c2d3e-0000-4000-8000-000000000000"


class Page(NamedTuple):
    status: int
    content_type: str
    text: str


@pytest.fixture(autouse=True)
def same_flower(monkeypatch) -> Iterator[None]:
    """Undo what is set up for a whole process."""
    registry = prometheus_client.REGISTRY
    before = list(urls.handlers), options.format_task, options.tasks_columns, set(registry._collector_to_names)
    for view in (JobTaskView, JobTasksView):
        monkeypatch.setattr(view, "explorer", "")
    yield
    urls.handlers[:], options.format_task, options.tasks_columns, collectors = before
    for collector in set(registry._collector_to_names) - collectors:
        if type(collector).__name__ == "DeploymentCollector":
            registry.unregister(collector)


@pytest.fixture
def settings(tmp_path):
    make_tables(tmp_path)
    return Settings(home=tmp_path)


def add_job(settings: Settings) -> str:
    from db.engine.connection import open_database

    database = open_database(settings.database)
    job = new_job(database)
    database.close()
    return job


def read_pages(job: str, *paths: str, login: str = "") -> list[Page]:
    """Read pages of a Flower that has seen one slice of the job. `login`: the user and password of a visitor."""

    async def read() -> list[Page]:
        state = EventsState(max_tasks_in_memory=10)
        event = {"hostname": "llm@here", "uuid": TASK, "timestamp": time.time(), "clock": 1, "pid": 1, "utcoffset": 0}
        received = {"type": "task-received", "name": "evaluate", "args": f"['{job}']", "kwargs": "{}"}
        for part in (received, {"type": "task-succeeded", "result": "'x: 3 items finished'", "runtime": 1.0}):
            state.event({**event, "local_received": time.time(), **part})
        events = SimpleNamespace(state=state)
        application = Flower(
            options=options, capp=make_app("memory://"), events=events, io_loop=IOLoop.current(), **urls.settings
        )
        server = HTTPServer(application)
        socket, port = bind_unused_port(address="127.0.0.1")
        server.add_sockets([socket])
        user, _, password = login.partition(":")
        access = {"auth_username": user, "auth_password": password} if login else {}
        try:
            answers = [
                await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}{path}", raise_error=False, **access)
                for path in paths
            ]
            return [
                Page(each.code, each.headers["Content-Type"], each.body.decode(errors="replace")) for each in answers
            ]
        finally:
            server.stop()
            await server.close_all_connections()

    return asyncio.run(asyncio.wait_for(read(), 60))


def find_links(page: Page) -> dict[str, str]:
    """Return the address of each link of our templates, by its id."""
    return dict(re.findall(r'<a id="(job|explorer)" href="([^"]+)"', page.text))


def test_pages_link_to_jobs_in_the_explorer(settings):
    job = add_job(settings)
    set_up_flower(settings.model_copy(update={"web_url": "https://jobs.example/"}))
    task, tasks = read_pages(job, f"/task/{TASK}", "/tasks")
    assert (task.status, tasks.status) == (200, 200)
    assert find_links(task) == {"job": f"https://jobs.example/jobs/{job}"}
    assert find_links(tasks) == {"explorer": "https://jobs.example/jobs"}
    assert f"wordmath iterative; job {job}, 4 items" in task.text and "3 items finished" in task.text


def test_pages_without_an_explorer_are_flowers_own(settings):
    job = add_job(settings)
    set_up_flower(settings)
    task, tasks, static, missing = read_pages(job, f"/task/{TASK}", "/tasks", "/static/favicon.ico", "/no-page")
    assert (task.status, tasks.status, static.status, missing.status) == (200, 200, 200, 404)
    assert find_links(task) == find_links(tasks) == {}
    assert f"wordmath iterative; job {job}, 4 items" in task.text


def test_metrics_need_the_login_of_the_other_pages(settings, monkeypatch):
    job = add_job(settings)
    set_up_flower(settings)
    monkeypatch.setattr(options.mockable(), "basic_auth", ["me:secret"])
    for login in ("", "me:guess"):
        assert [page.status for page in read_pages(job, "/metrics", "/tasks", login=login)] == [401, 401]
    (page,) = read_pages(job, "/metrics", login="me:secret")
    assert page.status == 200 and page.content_type == prometheus_client.CONTENT_TYPE_LATEST
    assert "lumos_database_up 1.0" in page.text and f'job="{job}"' in page.text
    assert 'flower_events_total{task="evaluate",type="task-received",worker="llm@here"}' in page.text
