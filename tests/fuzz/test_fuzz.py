"""A few hostile episodes of each domain, in this process; `make fuzz` runs many, watched from another process."""

from __future__ import annotations

import asyncio
import ctypes
import json
import random
import time
from collections.abc import Coroutine
from pathlib import Path

import pytest
import uvloop

from lumos_queue.endpoints.http import REPLY_BYTES
from tests.fuzz.domains import DOMAINS
from tests.fuzz.junk import KINDS
from tests.fuzz.pulse import Pulse
from tests.fuzz.replies import MOST, Replies, make_reply
from tests.fuzz.run import open_hostile_servers
from tests.fuzz.work import DomainReport, fuzz, share_out

EPISODES = 4
SHORT = 5_000  #: characters of a reply


@pytest.mark.parametrize("domain", DOMAINS)
def test_hostile_replies_end_their_episodes_and_nothing_else(domain, tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    found = DomainReport()
    with open_hostile_servers(domain, seed=1, max_characters=SHORT) as roles:
        fuzz(domain, tmp_path, Path("/nowhere"), roles, EPISODES, found)
    assert not found.violations
    assert found.episodes >= EPISODES


def test_replies_depend_on_seed_role_prompt_and_number_alone():
    first, again, other = Replies("policy", 1), Replies("policy", 1), Replies("policy", 2)
    prompts = ["Request: a", "Request: b", "Request: a"]
    texts = [first(prompt) for prompt in prompts]
    assert texts == [again(prompt) for prompt in prompts] and len(set(texts)) == 3
    assert texts != [other(prompt) for prompt in prompts]


def test_every_role_that_is_fuzzed_has_replies_that_its_servers_may_send():
    for role in {role for cases in DOMAINS.values() for case in cases for role in case.all_roles}:
        texts = [make_reply(role, "Functions:\nfind(name: string): Finds.\n\nRequest: x", f"{n}") for n in range(20)]
        assert len(set(texts)) > 10
        assert all(len(text) <= MOST < REPLY_BYTES for text in texts)
        assert all(json.dumps(text) for text in texts)


def test_every_kind_of_junk_gives_texts_of_any_length():
    for kind in KINDS:
        assert all(kind(random.Random(seed), length) for seed in range(30) for length in (1, 5_000))


def test_each_episode_belongs_to_a_case():
    for cases in DOMAINS.values():
        for episodes in (1, 4, 60):
            assert sum(share_out(list(cases), episodes)) == episodes


def test_what_holds_a_loop_or_the_interpreter_is_seen_with_its_stack(tmp_path):
    async def compute() -> None:
        until = time.thread_time() + 0.5
        while time.thread_time() < until:
            pass

    with Pulse(tmp_path, limit=0.1) as pulse:
        uvloop.run(_then_wait(compute()))
        assert pulse.loop.held >= 0.4 and "compute" in pulse.loop.stack
        ctypes.PyDLL(None).usleep(500_000)  # as a pattern does: no other thread gets the interpreter
        time.sleep(0.1)
    assert pulse.interpreter.wall >= 0.4


async def _then_wait(call: Coroutine[None, None, None]) -> None:
    await asyncio.sleep(0.1)
    await call
    await asyncio.sleep(0.1)
