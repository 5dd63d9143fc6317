"""The page of metrics as Prometheus reads it: names, types, help texts, labels and values."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queries.monitoring import DeploymentFigures
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.settings import Settings
from workers.metrics import MAX_LABEL, DeploymentCollector, _of_calls, _of_work, _of_workers

URL = "http://gpu-1:8080"
FIGURES = DeploymentFigures(
    jobs={"running": 2},
    open_jobs={"x8ex7hk5": {"owed": 3, "done": 4}},
    items={("done", "answered"): 9, ("owed", ""): 3},
    tokens={"prompt": 100, "completion": 20},
    calls={"planner": (5, 2.5)},
    action_seconds=1.5,
    latencies={"action": [float(second) for second in range(100)], "call": []},
    queue_seconds=12.0,
    unattended=1,
    leases_lost=6,
    workers={"at work": 2, "idle": 7},
    endpoints={URL: Traffic(3, 2, late=1)},
    caps={URL: 8},
    rejected={"not JSON": 11},
)
PAGE = """\
# HELP lumos_jobs Jobs by state.
# TYPE lumos_jobs gauge
lumos_jobs{state="running"} 2.0
# HELP lumos_items Items of all jobs by state and, of episodes, ending.
# TYPE lumos_items gauge
lumos_items{ending="answered",state="done"} 9.0
lumos_items{ending="",state="owed"} 3.0
# HELP lumos_job_items Items of each open job by state.
# TYPE lumos_job_items gauge
lumos_job_items{job="x8ex7hk5",state="owed"} 3.0
lumos_job_items{job="x8ex7hk5",state="done"} 4.0
# HELP lumos_queue_age_seconds Seconds for which the oldest due item has been pending; 0: none.
# TYPE lumos_queue_age_seconds gauge
lumos_queue_age_seconds 12.0
# HELP lumos_jobs_unattended Open jobs with due items on which no worker works.
# TYPE lumos_jobs_unattended gauge
lumos_jobs_unattended 1.0
# HELP lumos_tokens Tokens of finished episodes.
# TYPE lumos_tokens gauge
lumos_tokens{kind="prompt"} 100.0
lumos_tokens{kind="completion"} 20.0
# HELP lumos_model_calls Model calls of finished episodes.
# TYPE lumos_model_calls gauge
lumos_model_calls{role="planner"} 5.0
# HELP lumos_model_call_seconds Seconds of these model calls, added up.
# TYPE lumos_model_call_seconds gauge
lumos_model_call_seconds{role="planner"} 2.5
# HELP lumos_action_seconds Seconds of actions of finished episodes, added up.
# TYPE lumos_action_seconds gauge
lumos_action_seconds 1.5
# HELP lumos_tool_latency_seconds Quantiles of the seconds of actions, and of calls of external tools, of the episodes \
that run now.
# TYPE lumos_tool_latency_seconds gauge
lumos_tool_latency_seconds{kind="action",quantile="0.5"} 50.0
lumos_tool_latency_seconds{kind="action",quantile="0.95"} 95.0
lumos_tool_latency_seconds{kind="action",quantile="0.99"} 99.0
# HELP lumos_workers Worker processes that are alive.
# TYPE lumos_workers gauge
lumos_workers{state="at work"} 2.0
lumos_workers{state="idle"} 7.0
# HELP lumos_leases_lost_total Worker sessions that were declared dead: their items were retried.
# TYPE lumos_leases_lost_total counter
lumos_leases_lost_total 6.0
# HELP lumos_endpoint_calls Model calls by endpoint, as of the last heartbeats.
# TYPE lumos_endpoint_calls gauge
lumos_endpoint_calls{endpoint="http://gpu-1:8080",state="in flight"} 3.0
lumos_endpoint_calls{endpoint="http://gpu-1:8080",state="waiting"} 2.0
lumos_endpoint_calls{endpoint="http://gpu-1:8080",state="late"} 1.0
# HELP lumos_endpoint_cap The most calls that an endpoint may have in flight.
# TYPE lumos_endpoint_cap gauge
lumos_endpoint_cap{endpoint="http://gpu-1:8080"} 8.0
# HELP lumos_rejected_messages_total Messages that were dropped unread.
# TYPE lumos_rejected_messages_total counter
lumos_rejected_messages_total{reason="not JSON"} 11.0
"""


class Page:
    """A collector of these figures, without a database."""

    def __init__(self, figures: DeploymentFigures):
        self._figures = figures

    def describe(self):
        return ()

    def collect(self):
        for part in (_of_work, _of_calls, _of_workers):
            yield from part(self._figures)


def write_page(collector) -> str:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


def test_the_page_has_a_name_a_type_a_help_text_and_labels_for_each_figure():
    assert write_page(Page(FIGURES)) == PAGE


@pytest.mark.parametrize(("seconds", "quantiles"), [([4.0], [4.0, 4.0, 4.0]), ([1.0, 2.0], [2.0, 2.0, 2.0])])
def test_quantiles_of_few_actions_are_values_that_were_measured(seconds, quantiles):
    families = text_string_to_metric_families(write_page(Page(replace(FIGURES, latencies={"action": seconds}))))
    values = [s.value for family in families for s in family.samples if s.name == "lumos_tool_latency_seconds"]
    assert values == quantiles


def test_a_long_address_of_an_endpoint_is_shortened_in_labels():
    long = "http://" + "a" * 500
    page = write_page(Page(replace(FIGURES, endpoints={long: Traffic(1, 0)}, caps={long: 3})))
    addresses = {
        sample.labels["endpoint"]
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if "endpoint" in sample.labels
    }
    assert [len(address) for address in addresses] == [MAX_LABEL]


def test_a_database_of_this_revision_is_up_at_each_request(tmp_path):
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'lumos.db'}")
    database = open_database(settings.database)
    upgrade(database)
    database.close()
    collector = DeploymentCollector(Deployment(settings))
    page = write_page(collector)
    assert "# HELP lumos_database_up Whether the database answered.\n# TYPE lumos_database_up gauge\n" in page
    assert "lumos_database_up 1.0\n" in page
    assert "# HELP lumos_read_seconds Seconds that reading these figures took.\n" in page
    (seconds,) = [float(line.split()[1]) for line in page.splitlines() if line.startswith("lumos_read_seconds ")]
    assert 0 < seconds < 600
    assert "lumos_database_up 1.0\n" in write_page(collector), "a later request reads it again"


def test_a_database_without_tables_is_down_until_it_is_upgraded(tmp_path, caplog):
    """The operator upgrades it while the page is served."""
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'lumos.db'}")
    database = open_database(settings.database)
    collector = DeploymentCollector(Deployment(settings))
    with caplog.at_level(logging.WARNING, "workers.metrics"):
        page = write_page(collector)
    assert "lumos_database_up 0.0\n" in page and "lumos_jobs" not in page
    (line,) = caplog.messages
    assert line.startswith("no metrics: ") and "lumos" in line
    upgrade(database)
    database.close()
    assert "lumos_database_up 1.0\n" in write_page(collector)
