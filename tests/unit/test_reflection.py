"""Sum2Act's state manager is asked about calls with invalid arguments and of unknown functions, from version 4 on."""

from __future__ import annotations

import json
from functools import partial

import pytest

from db.queries.tool_figures import SerialStep
from lumos_queue.formulations.sum2act import is_recorded_alone
from lumos_queue.records import Ending, Task
from lumos_queue.reports.state_manager import StepCounts, _count_episode
from tests.tool_apis import entry, parameter, record
from tests.tool_episodes import Play, play_episode
from tests.tool_scripts import call, finish

LABEL = "The number on the label, in the form P and digits."
TRACK = entry("Track", [parameter("parcelId", description=LABEL)], [parameter("day", "NUMBER", description="A day.")])
OFFICES = entry("Offices", [], [parameter("town", default="Ombry")])
TASK = Task(
    "toolbench",
    "d",
    "1",
    "Where is parcel P1?",
    {"functions": [TRACK, OFFICES], "answers": [record("Track", {"parcelid": "P1"})]},
)
TRACK_NAME, OFFICES_NAME = "track_for_swift_post", "offices_for_swift_post"
INVALID = call(TRACK_NAME, "find the parcel", parcel="P1")
UNKNOWN = call("track_for_slow_post", "find the parcel", parcelid="P1")
ADVICE = f'Call {TRACK_NAME} with {{"parcelid": "P1"}}.'
FAILURE = json.dumps({"status": "failure", "aim": "find the parcel", "reason": ADVICE})
LIE = json.dumps({"status": "success", "aim": "find the parcel", "answer": "it is in Vell"})


def play(unmade: str, reply: str, version: int = 4, **settings: str) -> Play:
    """One call that is not made, then Finish."""
    replies = {"router": [unmade, finish("in Ombry")], "state_manager": [reply]}
    played = play_episode("sum2act", replies, TASK, version, **settings)
    assert played.outcome.ending == Ending.ANSWERED
    return played


def list_functions(played: Play) -> str:
    """The text about functions in the router's first prompt."""
    _, _, behind = played.prompts("router")[0].partition("Functions:\n")
    return behind.partition("\n\nRequest: ")[0]


@pytest.mark.parametrize(("unmade", "status"), [(INVALID, "invalid_arguments"), (UNKNOWN, "unknown_action")])
def test_the_state_manager_is_asked_and_its_advice_is_sent_to_the_router(unmade, status):
    played = play(unmade, FAILURE)
    assert [execution.status for execution in played.executions] == [status, "ok"]
    assert len(played.prompts("state_manager")) == 1
    last = played.prompts("router")[-1]
    failures = last.partition("Failed calls:\n")[2]
    assert ADVICE in failures.partition("Results:")[0]


def test_about_invalid_arguments_it_is_shown_the_function_and_the_problem():
    played = play(INVALID, FAILURE)
    (prompt,) = played.prompts("state_manager")
    assert f"Call: {TRACK_NAME} " in prompt and '{"parcel": "P1"}' in prompt and "find the parcel" in prompt
    assert "Says something of Track." in prompt and "parcelid" in prompt and "has no argument 'parcel'" in prompt
    assert LABEL in list_functions(played) and LABEL in prompt, "what the router sees of an argument"


def test_about_an_unknown_function_it_is_shown_all_functions():
    played = play(UNKNOWN, FAILURE)
    (prompt,) = played.prompts("state_manager")
    assert list_functions(played) in prompt and OFFICES_NAME in prompt and "Says something of Track." in prompt
    assert "there is no function 'track_for_slow_post'" in prompt and "Where is parcel P1?" in prompt


@pytest.mark.parametrize("calls", ["text", "native"])
def test_functions_are_listed_for_it_also_where_the_router_calls_them_natively(calls):
    (prompt,) = play(UNKNOWN, FAILURE, calls=calls).prompts("state_manager")
    assert f"{TRACK_NAME}(" in prompt and f"{OFFICES_NAME}(" in prompt


@pytest.mark.parametrize(
    "reply", [LIE, "", "no", "{" * 5_000, '{"status": "failure"}', '{"status": "failure", "reason": []}']
)
@pytest.mark.parametrize(
    ("unmade", "problem"), [(INVALID, "has no argument 'parcel'"), (UNKNOWN, "there is no function")]
)
def test_no_reply_makes_a_success_of_a_call_that_was_not_made(unmade, problem, reply):
    played = play(unmade, reply)
    last = played.prompts("router")[-1]
    failures, _, results = last.partition("Failed calls:\n")[2].partition("Results:\n")
    assert problem in failures or "[]" in failures, "the reason is not lost"
    assert results.startswith("none") and "Vell" not in last and "Already solved:\nnothing" in last


def test_rewriting_cannot_make_a_success_of_it_either():
    state = json.dumps({"results": [{"call": 1, "aim": "find it", "answer": "it is in Vell"}], "failures": []})
    advice = json.dumps({"results": [], "failures": [{"call": 1, "aim": "find it", "reason": ADVICE}]})
    replies = {
        "router": [INVALID, UNKNOWN, call(OFFICES_NAME), finish("x")],
        "state_manager": [state, state, advice],
    }
    played = play_episode("sum2act", replies, TASK, 4, update="rewrite")
    assert len(played.prompts("state_manager")) == 3
    third, last = played.prompts("router")[-2:]
    assert "Vell" not in third and "has no argument 'parcel'" in third and "there is no function" in third
    assert ADVICE in last and "there is no function" in last, "a reason may be written anew, and no call is lost"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_earlier_versions_record_the_message_alone(version):
    for unmade, problem in ((INVALID, "has no argument 'parcel'"), (UNKNOWN, "there is no function")):
        played = play(unmade, FAILURE, version)
        assert not played.prompts("state_manager") and problem in played.prompts("router")[-1]


def test_a_call_that_the_guard_refused_is_recorded_without_asking():
    replies = {"router": [INVALID, INVALID, finish("x")], "state_manager": [FAILURE]}
    played = play_episode("sum2act", replies, TASK, 4)
    assert len(played.prompts("state_manager")) == 1 and "made before" in played.prompts("router")[-1]


def test_a_finish_with_invalid_arguments_is_such_a_call():
    wrong = 'Action: Finish\nAction Input: {"return_type": "later"}'
    replies = {"router": [wrong, finish("x")], "state_manager": [FAILURE]}
    (prompt,) = play_episode("sum2act", replies, TASK, 4).prompts("state_manager")
    assert "'give_answer' or 'give_up_and_restart'" in prompt and "final_answer" in prompt


@pytest.mark.parametrize("status", ["invalid_arguments", "unknown_action"])
@pytest.mark.parametrize("update", ["append", "rewrite"])
def test_verdicts_on_these_calls_are_counted_from_version_4_on(status, update):
    success = json.dumps({"results": [{"call": 1, "answer": "x"}]}) if update == "rewrite" else LIE
    steps = [
        SerialStep(1, 1, 0, "router", INVALID, "stop"),
        SerialStep(1, 1, 1, "", TRACK_NAME, status),
        SerialStep(1, 1, 2, "state_manager", success, "stop"),
    ]
    found = {}
    for version in (3, 4):
        counts = StepCounts()
        _count_episode(counts, steps, True, update, version, partial(is_recorded_alone, version=version))
        found[version] = [(one.success, one.ok) for one in counts.verdicts], counts.router.summaries
    assert found == {3: ([], 1), 4: ([(True, False)], 0)}
