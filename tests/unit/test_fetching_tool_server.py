"""Calls of APIs through a server, over real sockets: what is posted, what is read, and where the key goes."""

from __future__ import annotations

import asyncio
import json

import pytest

from lumos_queue.commands import Call
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import InfrastructureError
from lumos_queue.execution.tools.callers import open_caller
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.named_server import NamedServer
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.execution.tools.registry import call_through
from lumos_queue.records import Execution
from lumos_queue.settings import Settings
from tests.fake_web import FakeWeb
from tests.tool_apis import LATEST_NAME, call, play


def asked(web: FakeWeb, *calls: Call, keys=None, seconds=30.0) -> list[Execution]:
    async def go() -> list[Execution]:
        client = GuardedHttp(
            Guard({("127.0.0.1", web.port)}), "lumos-test/1", rate_limiter=HostRateLimiter(0), seconds=seconds
        )
        caller = call_through(client, keys=keys)
        try:
            return [await caller.call(one, "k") for one in calls]
        finally:
            await caller.close()

    return asyncio.run(go())


def latest(server: str, nth: int = 0, **arguments) -> Call:
    named = {"category": "Parcels, Mail", "tool": "Swift Post", "api": "Latest"}
    return Call("api", {**named, "server": server, "arguments": arguments or {"parcelid": "P1"}}, nth)


def test_a_call_is_posted_as_toolbench_posts_it_and_its_answer_read():
    with FakeWeb() as web:
        web.replies = ['{"error": "", "response": {"town": "Ombry"}}', '{"error": "no such parcel", "response": ""}']
        good, bad = asked(web, latest(web.url("/virtual")), latest(web.url("/virtual"), parcelid="P\u00e9"))
        (_, _, headers), _ = web.requests
    assert [json.loads(body) for body in web.posted] == [
        {
            "category": "Parcels_Mail",
            "tool_name": "swift_post",
            "api_name": "latest",
            "tool_input": json.dumps({"parcelid": parcel}),
            "strip": "truncate",
            "toolbench_key": "",
        }
        for parcel in ("P1", "P\u00e9")
    ]
    assert headers["Idempotency-Key"] == "k" and headers["Content-Type"] == "application/json"
    assert (good.status, good.values[0]["code"], good.provenance) == ("ok", 0, "live")
    assert json.loads(good.values[0]["text"])["response"] == {"town": "Ombry"}
    assert (bad.status, bad.message) == ("tool_error", "no such parcel")


def test_a_key_goes_to_the_server_that_it_is_bound_to_and_to_no_other(tmp_path):
    keys = tmp_path / "keys"
    with FakeWeb() as web, FakeWeb() as other:
        keys.write_text(f"http://127.0.0.1:{web.port} SECRET\n")
        keys.chmod(0o600)
        web.replies, other.replies = ['{"response": 1}'], ['{"response": 1}']
        (done,) = asked(web, latest(web.url("/virtual")), keys=keys)
        asked(other, latest(other.url("/virtual")), keys=keys)
        said = [json.loads(one.posted[0])["toolbench_key"] for one in (web, other)]
    assert said == ["SECRET", ""] and "SECRET" not in repr(done)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("[]", "bad_reply"),
        ("{}", "bad_reply"),
        ("{", "bad_reply"),
        ("[" * 9_000, "bad_reply"),
        ("", "bad_reply"),
        ('{"response": "a\\u0000\\ud800"}', "ok"),
        ('{"error": {"code": 1}, "response": ""}', "tool_error"),
        ('{"error": null, "response": null}', "ok"),
        ('{"response": "' + "x" * 3_000_000 + '"}', "ok"),
    ],
)
def test_what_is_no_answer_is_a_status(reply, status):
    with FakeWeb() as web:
        web.replies = [reply]
        (done,) = asked(web, latest(web.url("/virtual")))
    assert done.status == status
    json.dumps([done.result, done.message, done.values]).encode()


def test_a_redirect_is_not_followed_as_the_key_would_go_with_it():
    with FakeWeb() as web:
        (done,) = asked(web, latest(web.url(f"/redirect?status=307&to={web.url('/virtual')}")))
        assert done.status == "http_error" and "not followed" in done.message and web.posted == []


def test_a_server_that_is_down_has_given_no_answer():
    with FakeWeb() as web, pytest.raises(InfrastructureError, match="answers 503"):
        asked(web, latest(web.url("/status/503")))
    with pytest.raises(InfrastructureError, match="cannot be asked"):
        asked(web, latest(web.url("/virtual")))
    with FakeWeb() as web, pytest.raises(InfrastructureError, match="did not answer within"):
        asked(web, latest(web.url("/hang")), seconds=0.2)


@pytest.mark.parametrize(
    "server", ["http://127.0.0.1:1/x", "http://10.0.0.1/x", "file:///etc/passwd", "nothing", 7, None]
)
def test_servers_that_may_not_be_reached_are_refused(server):
    with FakeWeb() as web:
        (done,) = asked(web, latest(server))
    assert done.status in ("refused", "bad_arguments") and web.count == 0


def test_the_second_equal_call_is_asked_again_and_the_same_one_is_not():
    with FakeWeb() as web:
        web.replies = ['{"error": "wait", "response": ""}', '{"response": "sent"}']
        one, two = latest(web.url("/virtual")), latest(web.url("/virtual"), nth=1)
        given = asked(web, one, two, one, two)
    assert [done.status for done in given] == ["tool_error", "ok"] * 2 and web.count == 2


def test_an_episode_calls_a_server_through_the_real_client():
    with FakeWeb() as web:
        web.replies = ['{"error": "", "response": "sent"}', "no JSON"]

        class Lent:
            """A caller that is opened within the episode's event loop."""

            caller = None

            async def call(self, command, key):
                if self.caller is None:
                    guard = Guard({("127.0.0.1", web.port)})
                    self.caller = call_through(GuardedHttp(guard, "lumos-test/1", rate_limiter=HostRateLimiter(0)))
                return await self.caller.call(command, key)

        action = call(LATEST_NAME, {"parcelid": "P1"})
        tools = {"answers": "live", "server": web.url("/virtual")}
        given = play([action, action], tools=tools, caller=Lent())[0]
    assert [(done.status, done.values[0]["code"], done.provenance) for done in given] == [
        ("ok", 0, "live"),
        ("transport_error", 12, ""),
    ]
    assert given[0].result == '{"error": "", "response": "sent"}'


@pytest.mark.parametrize("named", [True, False])
def test_a_server_on_this_machine_is_asked_where_the_jobs_options_name_it(named, tmp_path):
    async def go(server: str, elsewhere: str) -> list[Execution]:
        caller = open_caller(True, "", Deployment(Settings(home=tmp_path)), server if named else "")
        calls = [latest(server), latest(f"{server}?x=1"), latest(elsewhere), latest(web.url(f"/redirect?to={server}"))]
        try:
            return [await caller.call(one, "k") for one in calls]
        finally:
            await caller.close()

    with FakeWeb() as web, FakeWeb() as other:
        web.replies = ['{"response": 1}'] * 2
        found = asyncio.run(go(web.url("/virtual"), other.url("/virtual")))
        posted, foreign = len(web.posted), other.count
    expected = ["ok", "ok", "refused", "http_error"] if named else ["refused"] * 4
    assert ([done.status for done in found], posted, foreign) == (expected, 2 if named else 0, 0)


def test_no_page_leads_to_the_server_that_was_named(tmp_path):
    """Pages are fetched with a client that knows nothing of it."""

    async def go(server: str) -> Execution:
        http = GuardedHttp(Guard({("127.0.0.1", web.port)}), "lumos-test/1", rate_limiter=HostRateLimiter(0))
        guard = Guard({("127.0.0.1", web.port)}, server=NamedServer.of(server))
        named = GuardedHttp(guard, "lumos-test/1", rate_limiter=HostRateLimiter(0))
        caller = call_through(http, web.url(f"/redirect?to={server}"), server=named)
        try:
            return await caller.call(Call("wikipedia", {"query": "Vell"}), "k")
        finally:
            await caller.close()

    with FakeWeb() as web, FakeWeb() as own:
        done = asyncio.run(go(own.url("/virtual")))
        assert (done.status, own.count) == ("refused", 0)
