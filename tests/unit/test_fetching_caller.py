"""Who answers calls of tools outside, and that nothing is asked twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from lumos_queue.commands import Call
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import ActionError, InfrastructureError, SpecError
from lumos_queue.execution.tools.caller import MAX_KEPT, Caller
from lumos_queue.execution.tools.callers import open_caller
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.execution.tools.registry import call_through, user_agent
from lumos_queue.records import Execution
from lumos_queue.settings import Settings
from lumos_queue.util.version import RELEASE
from tests.fake_web import FakeWeb

BRIDGE = Call("wikipedia", {"query": "Quillon Bridge"})


def test_without_live_or_replay_a_call_is_refused_and_says_what_to_do(tmp_path):
    async def ask() -> Execution:
        caller = open_caller(False, "", Deployment(Settings(home=tmp_path)))
        done = await caller.call(BRIDGE, "key")
        await caller.close()
        return done

    done = asyncio.run(ask())
    assert (done.status, done.values, done.result) == ("live_refused", (), "")
    assert done.message == (
        'wikipedia(query="Quillon Bridge") needs the network: ask for it with --live, or replay an earlier job with '
        "--replay JOB"
    )
    assert list(tmp_path.iterdir()) == []


def test_live_and_replay_exclude_each_other(tmp_path):
    with pytest.raises(SpecError, match="--live and --replay exclude each other"):
        open_caller(True, "abcd1234", Deployment(Settings(home=tmp_path)))


def test_fault_32_a_call_that_was_made_is_not_made_again():
    async def ask(web: FakeWeb) -> list[Execution]:
        client = GuardedHttp(Guard({("127.0.0.1", web.port)}), "lumos-test/1", rate_limiter=HostRateLimiter(0))
        caller = call_through(client, web.api)
        together = await asyncio.gather(*(caller.call(BRIDGE, f"key {n}") for n in range(10)))
        later = await caller.call(Call("wikipedia", {"query": "Quillon Bridge"}), "key")
        other = await caller.call(Call("wikipedia", {"query": "Ombry"}), "key")
        await caller.close()
        assert other.values != later.values
        return [*together, later]

    with FakeWeb() as web:
        answers = asyncio.run(ask(web))
        assert web.count == 4  # the name and the article, for each of two different calls
    assert len({(one.status, one.result, str(one.values)) for one in answers}) == 1


def test_one_who_stops_waiting_does_not_stop_the_others():
    began, go_on = asyncio.Event(), asyncio.Event()

    async def slow(command: Call, key: str) -> Execution:
        began.set()
        await go_on.wait()
        return Execution("ok", "here")

    async def ask() -> Execution:
        caller = Caller(slow)
        first = asyncio.ensure_future(caller.call(BRIDGE, "1"))
        await began.wait()
        second = asyncio.ensure_future(caller.call(BRIDGE, "2"))
        await asyncio.sleep(0)
        first.cancel()
        go_on.set()
        return await second

    assert asyncio.run(ask()).result == "here"


def test_a_call_that_failed_for_the_network_is_made_again_and_others_are_not():
    async def ask(web: FakeWeb) -> None:
        client = GuardedHttp(Guard({("127.0.0.1", web.port)}), "lumos-test/1", rate_limiter=HostRateLimiter(0))
        caller = call_through(client, web.api)
        ends = await asyncio.gather(*(caller.call(BRIDGE, "key") for _ in range(3)), return_exceptions=True)
        assert [type(end) for end in ends] == [InfrastructureError] * 3
        assert (await caller.call(BRIDGE, "key")).ok
        missing = Call("wikipedia", {"query": "zzz"})
        assert [(await caller.call(missing, "key")).status for _ in range(2)] == ["not_found"] * 2
        await caller.close()

    with FakeWeb(["500"]) as web:
        asyncio.run(ask(web))
        assert web.count == 1 + 2 + 2


def test_an_unknown_tool_lists_the_choices():
    async def ask(web: FakeWeb) -> None:
        caller = call_through(GuardedHttp(Guard(), "lumos-test/1"), web.api)
        with pytest.raises(SpecError, match=r"No tool called 'google'\. Choose one of: api, search, wikipedia\."):
            await caller.call(Call("google", {"query": "x"}), "key")
        await caller.close()

    with FakeWeb() as web:
        asyncio.run(ask(web))


def test_what_a_tool_gives_is_made_storable_and_bounded():
    async def odd(command: Call, key: str) -> Execution:
        if command.tool == "huge":
            return Execution("ok", "", ({"kind": "x", "text": "y" * 2_000_000},))
        if command.tool == "refused":
            raise ActionError("refused", "no \x00 \ud800")
        return Execution("ok", "a\x00b", ({"kind": "x", "text": "a\ud800b", "number": float("nan")},), "m\x00")

    async def ask() -> list[Execution]:
        caller = Caller(odd)
        return [await caller.call(Call(tool, {}), "key") for tool in ("odd", "huge", "refused")]

    odd_one, huge, refused = asyncio.run(ask())
    assert (odd_one.result, odd_one.message) == ("a\N{REPLACEMENT CHARACTER}b", "m\N{REPLACEMENT CHARACTER}")
    assert odd_one.values[0] == {"kind": "x", "text": "a\N{REPLACEMENT CHARACTER}b", "number": "nan"}
    assert (huge.status, huge.values) == ("too_large", ())
    assert refused.status == "refused" and "\x00" not in refused.message


def test_only_so_many_answers_are_kept():
    async def any_answer(command: Call, key: str) -> Execution:
        return Execution("ok", str(command.arguments["n"]))

    async def ask() -> int:
        caller = Caller(any_answer)
        for n in range(3 * MAX_KEPT):
            assert (await caller.call(Call("t", {"n": n}), "key")).result == str(n)
        await asyncio.sleep(0)
        return len(caller._calls)

    assert asyncio.run(ask()) == MAX_KEPT


def test_closing_stops_what_is_on_its_way():
    ended = []

    async def endless(command: Call, key: str) -> Execution:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(command.tool)
        raise AssertionError

    async def close() -> None:
        ended.append("closed")

    async def ask() -> None:
        caller = Caller(endless, close)
        waiting = asyncio.ensure_future(caller.call(BRIDGE, "key"))
        await asyncio.sleep(0.01)
        await caller.close()
        assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)

    asyncio.run(ask())
    assert ended == ["wikipedia", "closed"]


def test_who_asks_is_named_with_a_way_to_reach_them(tmp_path):
    assert user_agent(Settings(home=tmp_path, contact="lab@example.org")) == f"lumos-queue/{RELEASE} (lab@example.org)"
    assert user_agent(Settings(home=tmp_path)) == f"lumos-queue/{RELEASE} (no contact given)"


def test_fault_38_nothing_of_the_network_is_imported_and_no_key_is_needed_until_a_call_is_made():
    code = (
        "import sys, lumos_queue.execution.tools.callers as c; c.open_caller(False, '', None);"
        "print([name for name in ('httpcore2', 'lxml', 'openai', 'idna', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={})
    assert done.stdout.strip() == "[]"


def test_the_second_of_equal_calls_is_a_call_of_its_own():
    made = []

    async def count(command: Call, key: str) -> Execution:
        made.append(command.nth)
        return Execution("ok", f"answer {command.nth}")

    async def ask() -> list[str]:
        caller = Caller(count)
        return [(await caller.call(Call("api", {"q": 1}, nth), "key")).result for nth in (0, 1, 0, 1)]

    assert asyncio.run(ask()) == ["answer 0", "answer 1"] * 2
    assert made == [0, 1]
