"""Short forms of cases in which a broker, a database, a disk or an endpoint fails. All of them: `make faults`."""

from __future__ import annotations

import pytest

from tests.faults.brokers import flush_broker, forge_messages, redis_gone, repeat_notifications
from tests.faults.conditions import long_query
from tests.faults.disks import full_disk_on_sqlite
from tests.faults.orders import cancel_job, pause_job
from tests.faults.outages import rows_fail
from tests.faults.refusals import refuse_for_good
from tests.faults.restarts import crash_repeatedly
from tests.faults.servers import endpoint_fails


@pytest.mark.long
def test_the_broker_is_gone_for_good(lab):
    assert redis_gone(lab, episodes=40).problems == []


def test_the_broker_forgets_everything(lab):
    assert flush_broker(lab, episodes=40).problems == []


@pytest.mark.long
def test_nudges_are_repeated(lab):
    assert repeat_notifications(lab, times=20, episodes=40).problems == []


def test_messages_are_forged(lab):
    assert forge_messages(lab, episodes=40).problems == []


@pytest.mark.long
def test_postgresql_crashes(lab):
    assert crash_repeatedly(lab, restarts=1, episodes=60).problems == []


def test_the_disk_is_full(lab):
    assert full_disk_on_sqlite(lab, episodes=80, seconds=1.0).problems == []


def test_the_endpoint_fails(lab):
    assert endpoint_fails(lab, "500", seconds=1.0, episodes=40, database="sqlite", broker="").problems == []


@pytest.mark.long
def test_rows_always_fail(lab):
    assert rows_fail(lab, episodes=40, failing_rows=2, database="sqlite", broker="").problems == []


@pytest.mark.long
def test_a_job_is_cancelled(lab):
    assert cancel_job(lab, episodes=300, database="sqlite", broker="").problems == []


@pytest.mark.long
def test_a_job_is_paused_and_resumed(lab):
    assert pause_job(lab, episodes=120, seconds=1.0).problems == []


def test_somebody_reads_an_old_snapshot(lab):
    assert long_query(lab, episodes=40).problems == []


@pytest.mark.long
def test_the_endpoint_refuses_for_good(lab):
    assert refuse_for_good(lab, episodes=40).problems == []
