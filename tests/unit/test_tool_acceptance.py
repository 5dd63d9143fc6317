"""What spec/sum2act.md 10.2, 10.4 and 10.9 ask for beyond test_tool_formulations.py: searches by hand, ablations."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.actions.tools.options import prepare_tools
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import ROOT, Ask
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Ending, Outcome
from lumos_queue.submission.agent_settings import read_settings
from lumos_queue.text_calls.three_lines import canonical
from tests.tool_scripts import Scripted, call, finish, give_up, run

FUNCTIONS = {"state": lambda number=0, **_: f"order {number} is shipped"}
IN_CALLS = {"limits": Limits(calls=200, depth=3, unit="calls")}


def search(*replies: str, limits: Limits = IN_CALLS["limits"], **settings: str):
    script = Scripted({"policy": list(replies)}, FUNCTIONS)
    ended = run("dfsdt", script, limits, **settings)
    return ended.outcome, [one.parent for one in script.commands if isinstance(one, Ask)], script


def numbered(*numbers: object) -> list[str]:
    return [call("state", number=number) for number in numbers]


# --- 10.2


def test_a_search_without_an_answer_visits_the_whole_tree_before_it_ends():
    """Width 2, three calls deep: 2 + 4 + 8 calls. A call at position p is acted on at p + 1, its children's parent."""
    outcome, parents, _ = search(*numbered(*range(20)))
    left = [ROOT, 1, 3, 3, 1, 9, 9]
    right = [ROOT, 15, 17, 17, 15, 23, 23]
    assert parents == left + right
    assert outcome == Outcome(None, Ending.LIMIT, "no answer in the whole tree")


def test_giving_up_at_once_ends_the_search():
    """It goes back two levels, and above the root there is nothing."""
    outcome, parents, _ = search(give_up(), finish("never asked"))
    assert (outcome.ending, parents) == (Ending.GAVE_UP, [ROOT])


def test_giving_up_three_deep_is_back_at_the_first_decision():
    """a, b below it, giving up below that: the siblings of what gave up and of b are skipped by two levels and none
    more: a's second child is asked for."""
    outcome, parents, _ = search(*numbered("a", "b"), give_up(), *numbered("c"), finish("d"))
    assert parents == [ROOT, 1, 3, 1, 7] and outcome.answer == "d"


def test_the_last_reply_is_discarded_even_where_it_is_the_answer():
    outcome, parents, script = search(*numbered("a", "b"), finish("too late"), limits=Limits(calls=3, depth=9))
    assert outcome == Outcome(None, Ending.LIMIT, "no answer in 3 calls")
    assert len(parents) == 3 and [name for name, _ in script.calls] == ["state", "state"]
    outcome, _, _ = search(*numbered("a", "b"), finish("in time"), limits=Limits(calls=4, depth=9))
    assert outcome.answer == "in time"


def test_what_was_tried_lists_every_earlier_child_and_is_hidden_later():
    replies = [*numbered("a", "b", "c"), finish("d")]
    _, parents, script = search(*replies, limits=Limits(calls=200, depth=1, unit="calls"), width="4")
    assert parents == [ROOT] * 4
    told = [[n for n in "abc" if f"order {n} is shipped" in prompt] for prompt in script.prompts("policy")]
    assert told == [[], ["a"], ["a", "b"], ["a", "b", "c"]]
    below = [*numbered("a"), give_up(), *numbered("b", "c"), finish("d")]
    _, _, script = search(*below, limits=Limits(calls=200, depth=9))
    hidden = ["not the first try" in prompt or "order a" in prompt for prompt in script.prompts("policy")]
    assert hidden == [False, True, True, False, False], "its own path, then its sibling's call, and never below that"


# --- 10.4


@pytest.mark.parametrize("update", ["append", "rewrite"])
@pytest.mark.parametrize("seed", range(10))
def test_the_guard_lets_no_call_through_twice_whatever_is_replied(seed, update):
    rng = random.Random(seed)
    spellings = ['{"number": %d}', '{"number":%d}', '{ "number" : %d }', '{"number": %d', "%d", "", '["number", %d]']
    router = [
        f"Action: {rng.choice(['state', 'other', 'Finis'])}\nAction Input: "
        + (text % rng.randint(1, 2) if "%" in (text := rng.choice(spellings)) else text)
        for _ in range(40)
    ]
    manager = rng.choices(['{"status": "success", "answer": "x"}', "{" * 99, "", "[]", '{"results": []}'], k=40)

    class Tolerant(Scripted):
        def _execute(self, name, text):
            try:
                return super()._execute(name, text)
            except (ValueError, TypeError):
                return super()._execute("no such function", "{}")

    script = Tolerant({"router": router, "state_manager": manager}, FUNCTIONS)
    assert run("sum2act", script, update=update).outcome.ending == Ending.LIMIT
    done = [(name, canonical(text)) for name, text in script.calls if name != REPEATED]
    assert len(done) == len(set(done)) and len(script.calls) == 30 == len(script.prompts("router"))
    assert any(name == REPEATED for name, _ in script.calls)


# --- 10.9

ABLATIONS = [
    ("sum2act", {"decompose": "yes"}),
    ("sum2act", {"repeat_guard": "no"}),
    ("sum2act", {"observation": "1024"}),
    ("sum2act", {"update": "rewrite"}),
    ("sum2act", {"state": "4000"}),
    ("sum2act", {"repair": "no"}),
    ("sum2act", {"force_finish": "yes"}),
    ("sum2act", {"steps": "12"}),
    ("dfsdt", {"width": "1"}),
    ("dfsdt", {"back_off": "2"}),
    ("dfsdt", {"unit": "calls", "depth": "6"}),
    ("react", {"tries": "3"}),
    ("react", {"unit": "calls"}),
    ("react", {"history": "drop:4000"}),
]


@pytest.mark.parametrize(("name", "given"), ABLATIONS)
def test_every_ablation_is_a_setting_that_makes_another_agent(name, given):
    formulation = FORMULATIONS.load(name)
    plain, found = read_settings(formulation, {}), read_settings(formulation, given)
    agents = [Agent({}, "tools", limits=one.limits, settings=one.settings) for one in (plain, found)]
    for agent in agents:
        formulation.read_settings(agent)
    assert agents[0].digest != agents[1].digest
    assert Agent.from_json(json.loads(json.dumps(agents[1].as_json()))) == agents[1]


def test_the_tools_offered_and_the_observation_limit_are_options():
    assert "retrieved:K" in open_benchmark("toolbench").options["tools"]
    assert prepare_tools({"observation": "2048"}) == {"observation": "2048"}
