"""`lumos doctor --solver URL` times a call and estimates 100 rows."""

from __future__ import annotations

import re

from tests.fake_endpoint import FakeEndpoint


def doctor(lumos, server) -> str:
    done = lumos("doctor", "--solver", server.openai)
    return next((line for line in done.out.splitlines() if "one call" in line), "")


def test_the_time_follows_from_the_slots_that_a_server_states(lumos):
    with FakeEndpoint(lambda prompt: "42 rolls", latency=2.0, owner="llamacpp", stated_slots=4) as server:
        line = doctor(lumos, server)
        assert server.count == 1
    seconds = float(re.search(r"took (\d+\.\d+) s", line)[1])
    assert 2.0 <= seconds < 4.0
    minutes = re.search(
        r"100 rows of one such call each \(a reply of cot .* tokens\): about (\d+) s, 4 at once as the server states",
        line,
    )
    assert abs(int(minutes[1]) - 100 * seconds / 4) <= 1.5


def test_a_server_that_states_none_is_estimated_one_after_the_other(lumos):
    with FakeEndpoint(lambda prompt: "42 rolls", latency=1.2) as server:
        line = doctor(lumos, server)
    assert re.search(r"about 2 min one after the other, less where it serves several at once", line)


def test_a_server_slower_than_a_request_may_take_is_not_waited_for(lumos):
    lumos.set(LUMOS_REQUEST_SECONDS="1")
    with FakeEndpoint(lambda prompt: "42 rolls", latency=30.0) as server:
        line = doctor(lumos, server)
    assert "no reply within 1 s (LUMOS_REQUEST_SECONDS)" in line and "more than 2 min" in line


def test_a_server_that_is_not_there_gets_no_call(lumos):
    with FakeEndpoint(lambda prompt: "42") as server:
        pass
    assert doctor(lumos, server) == ""
