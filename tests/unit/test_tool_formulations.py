"""ReAct, DFSDT, ReWOO and Sum2Act on scripted replies: in which order they ask and call, and how they end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lumos_queue.commands import ROOT, Ask, Do, Note
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.formulations.sum2act import FORMULATION, sum2act
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import TaskState
from lumos_queue.records import Ending, Outcome
from lumos_queue.util.exchange import Exchange
from tests.tool_scripts import TASK, Scripted, call, finish, give_up, run


def state(number: Any = 0, **_: Any) -> str:
    return f"order {number} is shipped"


def fail(**_: Any) -> str:
    raise ValueError("down")


FUNCTIONS = {"state": state, "fail": fail}


def record(status: str, **said: str) -> str:
    return json.dumps({"status": status, **said})


SUCCESS = record("success", aim="the state", answer="shipped")
FAILURE = record("failure", reason="down")


def parents(script: Scripted) -> list[int | None]:
    return [command.parent for command in script.commands if isinstance(command, Ask)]


# --- ReAct


def test_react_thinks_acts_and_sees():
    script = Scripted({"policy": [call("state", "look it up", number=17), finish("shipped")]}, FUNCTIONS)
    assert run("react", script).outcome == Outcome("shipped", Ending.ANSWERED)
    assert [name for name, _ in script.calls] == ["state", "Finish"]
    first, second = script.prompts("policy")
    assert second.startswith(first) and "order 17 is shipped" in second[len(first) :]


def test_react_names_the_command_before_each():
    script = Scripted({"policy": [call("state"), "Thought: and now?", finish("x")]}, FUNCTIONS)
    run("react", script)
    assert [one.parent for one in script.commands if isinstance(one, Ask | Do)] == [ROOT, 0, 1, 2, 3]


@pytest.mark.parametrize(("thought", "calls"), [("so", 4), ("", 6)])
def test_a_path_of_twelve_nodes_is_four_to_six_calls(thought, calls):
    script = Scripted({"policy": [call("state", thought, number=1)]}, FUNCTIONS)
    assert run("react", script).outcome.ending == Ending.LIMIT
    assert len(script.prompts("policy")) == calls


def test_depth_in_calls():
    script = Scripted({"policy": [call("state", "so")]}, FUNCTIONS)
    run("react", script, Limits(depth=9, unit="calls"))
    assert len(script.prompts("policy")) == 9


def test_an_empty_reply_goes_deeper_too():
    script = Scripted({"policy": [""]})
    assert run("react", script).outcome.ending == Ending.LIMIT and len(script.prompts("policy")) == 12


def test_tries_begin_anew_until_one_answers():
    script = Scripted({"policy": [give_up(), give_up(), finish("at last")]})
    assert run("react", script, tries="3").outcome.answer == "at last"
    assert len(set(script.prompts("policy"))) == 1
    script = Scripted({"policy": [give_up()]})
    assert run("react", script, tries="2").outcome.ending == Ending.GAVE_UP and len(script.prompts("policy")) == 2


# --- DFSDT


def test_giving_up_goes_back_two_decisions_and_full_depth_one():
    """Depth 3 calls, by hand: a, under it b, under it c (deep) and d (deep); b's sibling gives up, which ends a's
    children; a's sibling answers."""
    script = Scripted({"policy": [*(call("state", number=n) for n in "abcd"), give_up(), finish("f")]}, FUNCTIONS)
    assert run("dfsdt", script, Limits(depth=3, unit="calls")).outcome.answer == "f"
    assert parents(script) == [ROOT, 1, 3, 3, 1, ROOT]


def test_giving_up_skips_the_siblings_of_its_parent():
    """a, under it b, which gives up at once: back at the root, b's sibling is not tried."""
    script = Scripted({"policy": [call("state", number="a"), give_up(), finish("c")]}, FUNCTIONS)
    run("dfsdt", script)
    assert parents(script) == [ROOT, 1, ROOT]


def test_back_off_two_at_full_depth_skips_the_sibling():
    script = Scripted({"policy": [*(call("state", number=n) for n in "abc"), finish("d")]}, FUNCTIONS)
    run("dfsdt", script, Limits(depth=3, unit="calls"), back_off="2")
    assert parents(script) == [ROOT, 1, 3, 1]


def test_what_was_tried_is_told_in_its_own_call_only():
    replies = [call("state", number="a"), give_up(), call("state", number="b"), finish("done")]
    script = Scripted({"policy": replies}, FUNCTIONS)
    run("dfsdt", script, Limits(depth=9, unit="calls"))
    told = ["not the first try" in prompt for prompt in script.prompts("policy")]
    assert told == [False, False, True, False]
    assert "order a is shipped" in script.prompts("policy")[2] and "order a" not in script.prompts("policy")[3]


def test_the_reply_to_the_last_call_is_not_carried_out():
    script = Scripted({"policy": [call("state")]}, FUNCTIONS)
    assert run("dfsdt", script, Limits(calls=7, depth=9)).outcome.ending == Ending.LIMIT
    assert len(script.prompts("policy")) == 7 and len(script.calls) == 6


def test_width_one_is_one_chain():
    replies = [call("state", "so", number=1), "Thought: hm", call("fail"), finish("x")]
    chain, tree = Scripted({"policy": replies}, FUNCTIONS), Scripted({"policy": replies}, FUNCTIONS)
    assert run("react", chain).outcome == run("dfsdt", tree, width="1").outcome
    assert chain.commands == tree.commands


# --- ReWOO

PLAN = """Plan: the order
#E1 = state {"number": 17}
Plan: another one
#E2 = state {"number": 18}
Plan: what becomes of both
#E3 = join {"one": "#E1", "other": "#E2"}
"""


def do_positions(script: Scripted) -> list[tuple[int, int]]:
    pairs = zip(script.contexts, script.commands, strict=True)
    return [(context.position, context.branch) for context, command in pairs if isinstance(command, Do)]


def test_rewoo_carries_out_what_is_ready_and_solves():
    functions = FUNCTIONS | {"join": lambda one, other: "joined"}
    script = Scripted({"planner": [PLAN], "solver": ["Both are shipped."]}, functions)
    assert run("rewoo", script).outcome == Outcome("Both are shipped.", Ending.ANSWERED)
    assert do_positions(script) == [(4, 0), (4, 1), (5, 0)]
    assert [one.subgoal.number for one in script.commands if isinstance(one, Note)] == [1, 2, 3]
    assert "order 17 is shipped" in script.prompts("solver")[0]
    assert set(script.contexts[-2].variables) >= {"#E1", "#E2"}


def test_a_plan_that_waits_for_itself_is_carried_out_all_the_same():
    plan = '#E1 = state {"number": "#E2"}\n#E2 = state {"number": "#E1"}\n#E3 = state {"number": "#E9"}'
    script = Scripted({"planner": [plan], "solver": ["?"]}, FUNCTIONS)
    run("rewoo", script)
    assert [position for position, _ in do_positions(script)] == [4, 5, 5]


def test_a_plan_without_calls_is_unreadable():
    assert run("rewoo", Scripted({"planner": ["I cannot."]})).outcome.ending == Ending.UNREADABLE


# --- Sum2Act


def test_sum2act_routes_from_the_state_alone():
    script = Scripted({"router": [call("state", number=17), finish("shipped")], "state_manager": [SUCCESS]}, FUNCTIONS)
    assert run("sum2act", script).outcome == Outcome("shipped", Ending.ANSWERED)
    last = script.prompts("router")[-1]
    assert 'state {"number": 17}: shipped' in last and "order 17 is" not in last
    assert "order 17 is shipped" in script.prompts("state_manager")[0]


def test_sum2act_stops_after_thirty_steps():
    script = Scripted({"router": [call("state", number=n) for n in range(40)], "state_manager": [SUCCESS]}, FUNCTIONS)
    assert run("sum2act", script).outcome.ending == Ending.LIMIT
    assert len(script.prompts("router")) == 30 == len(script.calls)


def test_sum2act_may_be_made_to_finish():
    replies = [*(call("state", number=n) for n in range(30)), finish("forced")]
    script = Scripted({"router": replies, "state_manager": [SUCCESS]}, FUNCTIONS)
    ended = run("sum2act", script, force_finish="yes")
    assert ended.outcome == Outcome("forced", Ending.ANSWERED, "forced at the limit of steps")


def test_a_repeated_call_is_refused_and_recorded():
    again = 'Action: fail\nAction Input: {"b":2,"a":1}'
    script = Scripted({"router": [call("fail", a=1, b=2), again, finish("x")], "state_manager": [FAILURE]}, FUNCTIONS)
    run("sum2act", script)
    assert [name for name, _ in script.calls] == ["fail", "repeated", "Finish"]
    assert len(script.prompts("state_manager")) == 1, "nobody is asked about a call that was not made"
    script = Scripted({"router": [call("fail", a=1, b=2), again, finish("x")], "state_manager": [FAILURE]}, FUNCTIONS)
    run("sum2act", script, repeat_guard="no")
    assert [name for name, _ in script.calls] == ["fail", "fail", "Finish"]


def test_a_router_that_names_no_action_is_asked_once_more():
    script = Scripted({"router": ["hm", finish("x")], "state_manager": [SUCCESS]})
    assert run("sum2act", script).outcome.answer == "x"
    assert "could not be read: hm" in script.prompts("router")[1]
    script = Scripted({"router": ["hm"], "state_manager": [SUCCESS]})
    assert run("sum2act", script).outcome.ending == Ending.LIMIT and len(script.prompts("router")) == 60


@pytest.mark.parametrize(
    "reply", ["", "no", "[1, 2]", '{"status": "maybe"}', "{" * 5000, "null", '{"status": ["success"]}']
)
def test_a_record_that_cannot_be_read_is_a_failure(reply):
    script = Scripted({"router": [call("state", number=1), finish("x")], "state_manager": [reply]}, FUNCTIONS)
    run("sum2act", script)
    assert "could not be read" in script.prompts("router")[-1]


def test_records_with_missing_commas_and_fences_are_read():
    reply = '```json\n{"status": "success" "aim": "state", "answer": "it is \\"shipped\\""}\n```'
    script = Scripted({"router": [call("state", number=1), finish("x")], "state_manager": [reply]}, FUNCTIONS)
    run("sum2act", script)
    assert 'it is "shipped"' in script.prompts("router")[-1]


def test_the_last_routers_prompt_is_bounded():
    long = record("success", aim="x" * 3000, answer="y" * 9000)
    script = Scripted({"router": [call("state", number=n) for n in range(40)], "state_manager": [long]}, FUNCTIONS)
    run("sum2act", script, state="4000")
    prompts = script.prompts("router")
    assert len(prompts) == 30
    assert max(map(len, prompts)) <= len(prompts[0]) - len(TaskState().write(4000)) + 4000


def test_a_guide_of_parts():
    script = Scripted({"router": [finish("x")], "state_manager": ["1. this\n2. that"]})
    run("sum2act", script, decompose="yes")
    assert "2. that" in script.prompts("router")[0]


def test_states_are_made_again_from_the_steps():
    seen: list[TaskState] = []
    script = Scripted({"router": [call("state", number=1), finish("x")], "state_manager": [SUCCESS]}, FUNCTIONS)
    exchange = Exchange(sum2act(TASK, Agent({}, "maths", limits=FORMULATION.limits), seen.append))
    for command in exchange:
        assert not isinstance(command, list)
        exchange.reply = script.answer(command)
    assert [len(one.results) for one in seen] == [0, 1]
    assert seen[1].results[0].text == "shipped"


# --- all

FAILING = {
    "policy": [call("fail", "try", n=1)],
    "router": [call("fail", n=1)],
    "state_manager": [FAILURE],
    "planner": ["#E1 = fail {}"],
    "solver": [""],
}


@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act", "rewoo"])
def test_with_all_functions_failing_every_method_ends_without_answer(name):
    script = Scripted(FAILING, FUNCTIONS)
    assert run(name, script).outcome.answer is None
    assert len(script.commands) < 500


@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act"])
def test_a_model_that_never_finishes_is_stopped_without_any_limit(name):
    replies = {"policy": [call("state", number=1)], "router": ["hm"], "state_manager": [SUCCESS]}
    script = Scripted(replies, FUNCTIONS)
    limits = Limits() if name != "dfsdt" else Limits(calls=300)
    assert run(name, script, limits).outcome.ending == Ending.LIMIT
    assert len(script.commands) < 1000


@pytest.mark.parametrize(
    ("name", "setting", "problem"),
    [
        ("react", {"tries": "0"}, "from 1 to 100"),
        ("dfsdt", {"width": "x"}, "whole number"),
        ("react", {"wide": "1"}, "wide"),
        ("react", {"history": "cut"}, "cut:N"),
        ("sum2act", {"repair": "maybe"}, "one of yes, no"),
    ],
)
def test_settings_that_are_not_valid_are_told(name, setting, problem):
    with pytest.raises(SpecError, match=problem):
        FORMULATIONS.load(name).read_settings(Agent({}, "maths", settings=setting))


@pytest.mark.parametrize(("history", "most"), [("whole", 4000), ("cut:1300", 1300), ("drop:1300", 1300)])
def test_histories_keep_to_their_characters(history, most):
    functions = {"state": lambda number: "z" * 600}
    script = Scripted({"policy": [*(call("state", number=n) for n in range(5)), finish("x")]}, functions)
    run("react", script, Limits(depth=20), history=history)
    first, *_, last = script.prompts("policy")
    grown = len(last) - len(first)
    assert grown <= most and (history != "whole" or grown > 3000)
    assert ("left out" in last) == (history != "whole")
