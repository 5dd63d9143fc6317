"""Jobs that began with versions 1 to 3 send the prompts of their version about calls that were not made."""

from __future__ import annotations

import hashlib
import json

import pytest

from lumos_queue.commands import Ask
from lumos_queue.execution.memory_journal import MemoryJournal
from tests.tool_apis import LATEST_NAME, OFFICES_NAME
from tests.tool_episodes import Play, play_episode
from tests.tool_scripts import call, finish, give_up

CALLS = [
    call(LATEST_NAME, "look it up", parcel="P1"),
    call("no_such", "try this", town="東京"),
    "I wonder.",
    f"Action: {LATEST_NAME}\nAction Input: {{oops",
    call(OFFICES_NAME, "the office", town="Ombry"),
    call(OFFICES_NAME, town="Ombry"),
    'Action: Finish\nAction Input: {"return_type": "later"}',
    give_up("no way"),
    'Action: Finish\nAction Input: {"final_answer": "in Ombry"}',
]
RECORD = json.dumps({"status": "success", "aim": "where it is", "answer": "in Ombry"})
STATE = json.dumps({"results": [{"call": 1, "answer": "in Ombry"}]})
CASES = {
    "react": {"tries": "2"},
    "dfsdt": {},
    "dfsdt back_off": {"back_off": "2", "history": "cut:900"},
    "sum2act": {},
    "sum2act rewrite": {"update": "rewrite", "repeat_guard": "no"},
    "sum2act force": {"force_finish": "yes", "decompose": "yes", "repair": "no"},
}


def play(name: str, version: int, journal: MemoryJournal | None = None) -> Play:
    manager = STATE if "rewrite" in name else RECORD
    calls = [one for one in CALLS if "give_up" not in one] + [finish("x")] if name.startswith("sum2act") else CALLS
    replies = {"policy": calls, "router": calls, "state_manager": [manager]}
    return play_episode(name.split()[0], replies, version=version, journal=journal, **CASES[name])


def fingerprint(name: str, version: int) -> str:
    return hashlib.sha256("\n".join(play(name, version).digests).encode()).hexdigest()[:16]


#: The digests of all commands of these episodes, as the code before version 4 gave them for versions 1 to 3.
FINGERPRINTS = {
    "react": "2e39be232a3179fe",
    "dfsdt": "a812438d1182b151",
    "dfsdt back_off": "92e5aca9ab66509c",
    "sum2act": "f5a8582b67ddf768",
    "sum2act rewrite": "5419ec7283c97816",
    "sum2act force": "86de05868f669973",
}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_commands_are_those_of_the_code_of_that_version(name, version):
    assert fingerprint(name, version) == FINGERPRINTS[name]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act", "sum2act rewrite"])
def test_an_episode_that_stopped_anywhere_ends_as_without_the_stop(name, version):
    """The replies that follow are those of the whole episode, as of a model that goes on."""
    whole = play(name, version)
    for kept in range(len(whole.steps)):
        again = resume(name, version, whole, kept)
        assert (again.outcome, again.digests) == (whole.outcome, whole.digests), kept


def resume(name: str, version: int, whole: Play, kept: int) -> Play:
    """Run an episode anew on its first `kept` steps; models go on with the replies that they gave behind these."""
    later: dict[str, list[str]] = {"policy": ["?"], "router": ["?"], "state_manager": ["?"]}
    replies = [(step.command.role, step.result.text) for step in whole.steps[kept:] if isinstance(step.command, Ask)]
    for role in later:
        later[role] = [text for who, text in replies if who == role] or ["?"]
    return play_episode(
        name.split()[0], later, version=version, journal=MemoryJournal(whole.steps[:kept]), **CASES[name]
    )
