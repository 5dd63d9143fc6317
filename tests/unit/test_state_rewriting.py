"""Sum2Act's state, written anew by the state manager after each call (`update=rewrite`): no bad reply loses any."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import MAX_REPLY, UNREADABLE, StateRecord, TaskState, rewrite
from lumos_queue.records import Ending, Outcome
from tests.tool_scripts import Scripted, call, finish, run

FUNCTIONS = {"state": lambda number=0: f"order {number} is shipped"}
BEFORE = TaskState((StateRecord(True, "a", "{}", "aim a", "found a"), StateRecord(False, "b", "{}", "", "failed b")))
NEW = ("c", '{"n": 1}')


def said(results=(), failures=()) -> str:
    return json.dumps({"results": list(results), "failures": list(failures)})


def after(reply: str) -> list[tuple[bool, str, str]]:
    state = rewrite(BEFORE, reply, *NEW)
    assert [one.action for one in state.records] == ["a", "b", "c"]
    assert [one.arguments for one in state.records] == ["{}", "{}", NEW[1]]
    return [(one.success, one.aim, one.text) for one in state.records]


KEPT = [(True, "aim a", "found a"), (False, "", "failed b")]


def test_records_are_reworded_and_verdicts_turned_round():
    reply = said(
        [{"call": 3, "aim": "all", "answer": "found c"}, {"call": 2, "answer": "c shows b"}],
        [{"call": 1, "aim": "x", "reason": "c shows otherwise"}],
    )
    assert after(reply) == [(False, "x", "c shows otherwise"), (True, "", "c shows b"), (True, "all", "found c")]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no",
        "null",
        "[]",
        "{}",
        "{" * 5_000,
        '{"results": 1, "failures": {}}',
        '{"results": ["c"]}',
        said(),
        said([{"call": 9, "answer": "x"}, {"call": 0}, {"call": -1}, {"call": True}, {"call": 2.5}, {"call": None}]),
        said([{"call": 3, "answer": "yes"}], [{"call": 3, "reason": "no"}]),
        said([{"action": "d", "answer": "made up"}]),
        said([{"call": "9" * 5_000}]),
    ],
)
def test_a_reply_that_cannot_be_read_or_lies_loses_nothing(reply):
    assert after(reply) == [*KEPT, (False, "", UNREADABLE)]


def test_what_a_reply_leaves_out_stays_and_what_is_cut_off_is_read_as_far_as_it_goes():
    assert after(said([{"call": 3, "answer": "found c"}])) == [*KEPT, (True, "", "found c")]
    long = said([{"call": 3, "answer": "x" * 10 * MAX_REPLY}])
    (*kept, (success, _, text)) = after(long)
    assert kept == KEPT and success and 0 < len(text) <= MAX_REPLY
    assert after('```json\n{"results": [{"call": "3" "answer": "found c"},')[2] == (True, "", "found c")
    assert after(said([{"call": 3, "answer": {"a": ["\x00\ud800"]}}]))[2][2].encode()


def test_any_reply_keeps_every_call():
    rng = random.Random(3)
    pieces = [
        '{"results": [',
        '{"call": 1',
        '"call": 2',
        ', "answer": "x"}',
        "]",
        "}",
        ',"failures": [',
        '{"call": 3}',
        '"',
        "null",
    ]
    for _ in range(2_000):
        after("".join(rng.choice(pieces) for _ in range(rng.randrange(12))))


def test_the_state_manager_is_shown_the_state_and_the_router_what_it_made_of_it():
    better = {"call": 1, "aim": "one", "answer": "now better"}
    replies = [
        said([{"call": 1, "aim": "one", "answer": "first"}]),
        said([{"call": 2, "aim": "two", "answer": "second"}, better]),
    ]
    router = [call("state", number=1), call("state", number=2), finish("x")]
    script = Scripted({"router": router, "state_manager": replies}, FUNCTIONS)
    assert run("sum2act", script, update="rewrite").outcome == Outcome("x", Ending.ANSWERED)
    first, second = script.prompts("state_manager")
    assert "State so far:\nno call\n\nThe newest call has the number 1.\n\nNewest call: state" in first
    assert '{"call": 1, "function": "state"' in second and '"answer": "first"' in second and "the number 2" in second
    assert "order 2 is shipped" in second and "order 1 is" not in second
    assert "now better" in script.prompts("router")[-1] and "first" not in script.prompts("router")[-1]


@pytest.mark.parametrize(("version", "asked"), [(3, 1), (4, 2)])
def test_a_call_that_the_guard_refused_is_recorded_without_asking_and_the_guard_knows_every_call(version, asked):
    router = [call("state", number=1), call("other"), call("state", number=1), finish("x")]
    script = Scripted({"router": router, "state_manager": [said()]}, FUNCTIONS)
    run("sum2act", script, update="rewrite", version=version)
    assert [name for name, _ in script.calls] == ["state", "other", "repeated", "Finish"]
    assert len(script.prompts("state_manager")) == asked, "before version 4, only about calls that were made"


def test_what_both_roles_are_shown_is_bounded():
    router = [call("state", number=n) for n in range(30)]
    numbers = iter(range(1, 31))

    class Wordy(Scripted):
        def answer(self, command):
            if getattr(command, "role", "") == "state_manager" and "You keep the state" in command.prompt:
                self._replies["state_manager"] = [said([{"call": next(numbers), "answer": "y" * 9_000}])]
            return super().answer(command)

    script = Wordy({"router": router, "state_manager": [""]}, FUNCTIONS)
    assert run("sum2act", script, update="rewrite", state="4000").outcome.ending == Ending.LIMIT
    assert len(script.prompts("router")) == 30
    for role, fixed in (("router", 2_000), ("state_manager", 9_000)):
        assert max(map(len, script.prompts(role))) < 4_000 + fixed
    assert script.prompts("router")[-1].count("state {") == 29, "none is dropped"


def test_it_is_a_setting_that_is_off_unless_it_is_asked_for():
    sum2act = FORMULATIONS.load("sum2act")
    assert sum2act.read_settings(Agent({}, "maths"))["update"] == "append"
    assert "You record what" in sum2act.prompt_prefixes(Agent({}, "maths"))["state_manager"]
    rewriting = Agent({}, "maths", settings={"update": "rewrite"})
    assert "You keep the state" in sum2act.prompt_prefixes(rewriting)["state_manager"]
    assert Agent({}, "maths").digest != rewriting.digest and "settings" not in Agent({}, "maths").as_json()
