"""Metrics say what is stored and who works on it; the dashboard asks for nothing that is not exported."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import insert, update

from db.engine.connection import now
from db.models import Heartbeat, JobRow, RefusedMessage, WorkerSessionRow
from db.queue.batch import Batch
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import beat
from db.queue.shares import set_cap
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from workers.flower_tasks import JobWords, TaskFormat
from workers.metrics import DeploymentCollector

ROOT = Path(__file__).resolve().parents[2]
URL = "tgi://gpu-1:8080"
NAME = '<script>alert(1)</script>\x1b[2J"' + "x" * 10_000


def exported(url: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Value by the labels' values of each sample, by its name."""
    registry = CollectorRegistry()
    registry.register(DeploymentCollector(Deployment(Settings(database_url=url))))
    found: dict = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


@pytest.fixture
def deployment(database):
    """Of one job two items are done and two held by a worker; nobody works on another one; a third worker has died."""
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who)
    held = {item.id: item.claim for item in items}
    commit(database, who, Batch(held, finished=[finish(items[0]), finish(items[1])]), ClaimRequest(0))
    beat(database, who.session, [job], {URL: Traffic(3, 2, late=1)})
    set_cap(database, URL, 8)
    other = new_job(database, digest="cd" * 32)
    with database.writer.begin() as connection:
        gone = dict(host="h", pid=1, code_version="1", started_at=0.0, ended_at=1.0, ended_by="session 1")
        connection.execute(insert(WorkerSessionRow).values(gone))
        connection.execute(insert(RefusedMessage).values(reason="not JSON", messages=7, latest="", latest_at=0.0))
        connection.execute(update(JobRow).where(JobRow.id == other).values(created_at=now() - 100))
    return job, other


def test_the_metrics_are_those_of_what_is_stored(database, deployment):
    job, other = deployment
    found = exported(database.url)
    assert found["lumos_database_up"] == {(): 1.0}
    assert found["lumos_items"] == {
        ("answered", "done"): 2.0,
        ("", "owed"): 4.0,
        ("", "claimed"): 2.0,
        ("", "awaiting"): 0.0,
    }
    assert found["lumos_job_items"] == {(job, "done"): 2.0, (job, "claimed"): 2.0, (other, "owed"): 4.0}
    assert found["lumos_jobs_unattended"] == {(): 1.0}
    assert 100 <= found["lumos_queue_age_seconds"][()] < 200
    assert found["lumos_workers"] == {("at work",): 1.0, ("idle",): 0.0}
    assert found["lumos_leases_lost_total"] == {(): 1.0}
    assert found["lumos_endpoint_calls"] == {(URL, "in flight"): 3.0, (URL, "waiting"): 2.0, (URL, "late"): 1.0}
    assert found["lumos_endpoint_cap"] == {(URL,): 8.0}
    assert found["lumos_rejected_messages_total"] == {("not JSON",): 7.0}
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).values(at=0.0))
    found = exported(database.url)
    assert found["lumos_workers"] == {("at work",): 0.0, ("idle",): 0.0}
    assert "lumos_endpoint_calls" not in found


def test_a_database_that_does_not_answer_is_one_metric():
    found = exported("postgresql://127.0.0.1:1/nothing")
    assert found.keys() == {"lumos_database_up", "lumos_read_seconds"} and found["lumos_database_up"] == {(): 0.0}


def test_the_dashboard_asks_only_for_what_is_exported(database, deployment):
    registry = CollectorRegistry()
    registry.register(DeploymentCollector(Deployment(Settings(database_url=database.url))))
    text = generate_latest(registry).decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\blumos_[a-z_]+", target["expr"])
    }
    assert asked <= names, "a panel would stay empty"
    told = set(re.findall(r"`(lumos_[a-z_]+)`", (ROOT / "docs" / "monitoring.md").read_text()))
    assert names == told == asked, "each is on the dashboard and in docs/monitoring.md"
    labels = set(re.findall(r"[{,]([a-z_]+)=\"", text))
    assert labels == {"state", "ending", "job", "kind", "role", "quantile", "endpoint", "reason"} - {"role", "quantile"}


def test_flower_shows_a_job_in_words_and_what_came_of_a_slice(database, deployment):
    job, _ = deployment
    with database.writer.begin() as connection:
        spec = {"infer": {"agent": {"roles": {"planner": URL, "grounder": URL}}}}
        connection.execute(update(JobRow).where(JobRow.id == job).values(name=NAME, spec=spec))
    shown = TaskFormat(JobWords(Deployment(Settings(database_url=database.url))))

    def task(**fields):
        empty = {"args": f"['{job}']", "kwargs": "{}", "result": None, "exception": None}
        return shown(types.SimpleNamespace(**empty | fields))

    args = task().args
    assert args.startswith('wordmath iterative "<script>alert(1)</script>') and len(args) < 300
    assert args.endswith(f'…", planner/grounder {URL}; job {job}, 4 items') and "\x1b" not in args
    what = args.partition("; job ")[0]
    assert (
        task(result=repr(f"{what}: 3 items finished; stopped: it ends")).result == "3 items finished; stopped: it ends"
    )
    turn = f"{what}: 3 items finished; stopped: another job's turn".replace("'", "\\'")
    assert task(result=f"'{turn}'").result == "3 items finished; stopped: another job's turn", "as Celery writes it"
    failed = task(exception=f"SliceFailed({f'{what}: failed: endpoint: down'!r})")
    assert failed.result == failed.exception == "failed: endpoint: down"
    assert task(args="['zzzzzzzz']").args == "zzzzzzzz", "a job that is gone"
    assert len(task(args="(" + "9" * 10**6).args) <= 1000, "of a message that somebody else has sent"
