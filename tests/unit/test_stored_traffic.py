"""The traffic of an endpoint as heartbeats store it."""

from __future__ import annotations

import json

from lumos_queue.endpoints.traffic import Traffic


def test_the_traffic_of_a_heartbeat_is_read_as_it_was_stored():
    traffic = Traffic(3, 1, 4.5, 2, 0.25, 7, 1.5)
    read = Traffic.read(json.loads(json.dumps(traffic)))
    assert read == traffic and list(map(type, read)) == [int, int, float, int, float, int, float]


def test_a_heartbeat_of_an_earlier_version_has_only_the_numbers_of_requests():
    assert Traffic.read([3, 1]) == Traffic(3, 1)
