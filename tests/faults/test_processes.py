"""Short forms of cases in which worker processes die or stand still. All of them: `make faults`."""

from __future__ import annotations

import pytest

from tests.faults.conditions import clocks_off_on_sqlite, two_versions
from tests.faults.items import block, poison
from tests.faults.kills import kills_on_postgresql
from tests.faults.stops import stop_in_transaction_on_postgresql, stop_in_transaction_on_sqlite


def test_killed_on_postgresql_and_redis(lab):
    assert kills_on_postgresql(lab, kills=2, episodes=40).problems == []


@pytest.mark.long
def test_stopped_inside_a_transaction_on_postgresql(lab):
    assert stop_in_transaction_on_postgresql(lab, stops=1, episodes=150).problems == []


def test_stopped_inside_a_transaction_on_sqlite(lab):
    assert stop_in_transaction_on_sqlite(lab, stops=1, episodes=60, leases=1.5).problems == []


@pytest.mark.long
def test_one_poisonous_item(lab):
    assert poison(lab, episodes=12, database="sqlite", broker="", concurrency=2).problems == []


@pytest.mark.long
def test_a_blocked_event_loop(lab):
    assert block(lab, episodes=100).problems == []


def test_wrong_clocks(lab):
    assert clocks_off_on_sqlite(lab, episodes=40).problems == []


@pytest.mark.long
def test_two_versions_of_the_code(lab):
    assert two_versions(lab, episodes=80).problems == []
