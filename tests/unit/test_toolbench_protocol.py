"""ReAct and DFSDT under ToolBench's protocol and under ours: what a model is sent, and when a run continues."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.actions.tools.answers import CUT
from lumos_queue.commands import Do
from lumos_queue.endpoints.chat_messages import chat_messages
from lumos_queue.errors import SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.tool_agent import NO_ACTION, NO_CALL
from lumos_queue.records import Completion, Ending, FinishReason, Task
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, OFFICES_NAME, record
from tests.tool_episodes import PARCEL, Play, play_episode
from tests.tool_scripts import call, finish, give_up

TOOLBENCH = {"protocol": "toolbench"}
LOOK = call(LATEST_NAME, "look it up", parcelid="P1")
DEEP = Limits(depth=60, calls=60)


def play(formulation: str, *replies: str | Completion, task: Task = PARCEL, **options) -> Play:
    settings = {"protocol": "toolbench", **options}
    limits = settings.pop("limits", DEEP)
    return play_episode(formulation, {"policy": replies}, task, limits=limits, **settings)


def answer_with(response: object, error: str = "") -> Task:
    inputs = {"functions": [LATEST, OFFICES], "answers": [record(response=response, error=error, code=0)]}
    return Task("toolbench", "d", "7", "Where is parcel P1?", inputs)


# --- (a) Finish


@pytest.mark.parametrize("formulation", ["react", "dfsdt"])
@pytest.mark.parametrize("calls", ["text", "native"])
@pytest.mark.parametrize(
    "arguments",
    ['{"final_answer": "x"}', "{'return_type': 'give_answer', 'final_answer': 'x'}", '{"Answer": "x"}'],
)
def test_a_finish_that_toolbench_does_not_accept_is_an_error_and_the_run_continues(formulation, calls, arguments):
    wrong = f"Action: Finish\nAction Input: {arguments}"
    played = play(formulation, wrong, LOOK, finish("in Ombry"), calls=calls)
    assert (played.outcome.answer, played.outcome.ending) == ("in Ombry", Ending.ANSWERED)
    first, *_, last = played.executions
    assert (first.status, first.values[0]["code"], first.ends) == ("invalid_arguments", 2, False)
    assert last.ends and last.values[0]["code"] == 3
    assert "'return_type'" in json.loads(first.result)["error"] and first.result in played.prompts("policy")[1]
    assert play(formulation, wrong, protocol="tolerant", calls=calls).outcome.answer == "x"


def test_a_null_answer_is_the_reverse():
    null = 'Action: Finish\nAction Input: {"return_type": "give_answer", "final_answer": null}'
    assert play("react", null).outcome.answer == "null"
    played = play("react", null, finish("x"), protocol="tolerant")
    assert [execution.status for execution in played.executions] == ["invalid_arguments", "ok"]


def test_giving_up_and_answers_end_a_run_in_both():
    for protocol in ("toolbench", "tolerant"):
        assert play("react", give_up(), protocol=protocol).outcome.ending == Ending.GAVE_UP
        assert play("dfsdt", LOOK, finish("x"), protocol=protocol).outcome.answer == "x"


# --- (b) a reply without a call


@pytest.mark.parametrize("formulation", ["react", "dfsdt"])
@pytest.mark.parametrize("calls", ["text", "native"])
@pytest.mark.parametrize(
    "reply",
    ["I wonder.", "Thought: I wonder.", "", "Action: I would look up the parcel.", "Action: latest(parcelid='P1')"],
)
def test_a_reply_without_a_call_adds_no_message(formulation, calls, reply):
    played = play(formulation, reply, LOOK, reply, reply, finish("x"), calls=calls)
    first, second, third, fourth, fifth = played.prompts("policy")
    assert second == f"{first}{reply.strip()}</s>\n<|assistant|>\n"
    assert fourth == f"{third}{reply.strip()}</s>\n<|assistant|>\n"
    assert fifth == f"{fourth}{reply.strip()}</s>\n<|assistant|>\n"
    assert not any(text in fifth for text in (NO_ACTION, NO_CALL, "Nothing was called"))
    asked = play(formulation, reply, finish("x"), calls=calls, protocol="tolerant").prompts("policy")[1]
    assert asked.startswith(f"{first}{reply.strip()}</s>\n<|user|>\n")


def test_as_messages_it_is_followed_by_the_next_reply():
    played = play("react", "I wonder.", "I still do.", LOOK, finish("x"))
    messages = chat_messages(played.prompts("policy")[-1])
    assert [message["role"] for message in messages] == ["system", "user", *["assistant"] * 3, "user"]
    assert [message["content"] for message in messages[2:4]] == ["I wonder.", "I still do."]


def test_a_reply_without_a_call_is_a_node_of_the_path_as_before():
    played = play("react", "I wonder.", limits=Limits(depth=12))
    assert played.outcome.ending == Ending.LIMIT and len(played.prompts("policy")) == 12


@pytest.mark.parametrize(("framing", "ending"), [("train", "</s>\n"), ("eval", "\n\n")])
def test_after_a_reply_without_a_call_earlier_tries_are_a_message_by_themselves(framing, ending):
    """At the thought, a call that failed; its sibling is sent the message about it, which no observation precedes."""
    limits = Limits(depth=2, unit="calls", calls=9)
    played = play("dfsdt", "I wonder.", call("no_such"), finish("x"), limits=limits, framing=framing)
    first, *_, last = played.prompts("policy")
    assert last.startswith(f"{first}I wonder.{ending}<|user|>\nThis is not the first try") and "no_such" in last


@pytest.mark.parametrize("history", ["cut:200", "drop:200"])
def test_histories_are_shortened_with_such_replies_in_them(history):
    replies = ["I wonder.", LOOK, "I still do.", LOOK, "Hm.", finish("x")]
    last = play("react", *replies, history=history).prompts("policy")[-1]
    assert last.endswith("Hm.</s>\n<|assistant|>\n") and NO_ACTION not in last


def test_no_note_about_further_native_calls_is_added():
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}] * 3}
    several = Completion(LOOK, FinishReason.STOP, message=json.dumps(message))
    for protocol, noted in (("toolbench", False), ("tolerant", True)):
        prompt = play("react", several, finish("x"), calls="native", protocol=protocol).prompts("policy")[1]
        assert ("Only the first call" in prompt) == noted


# --- (c) observations


def shown(task: Task, *calls: str, formulation: str = "react", **options) -> list[str]:
    """What a model is sent of each call's result."""
    played = play(formulation, *calls, finish("x"), task=task, **options)
    for execution, prompt in zip(played.executions, played.prompts("policy")[1:], strict=False):
        assert f"Observation: {execution.result}\n<|assistant|>\n" in prompt
    return [execution.result for execution in played.executions[:-1]]


@pytest.mark.parametrize("formulation", ["react", "dfsdt"])
def test_observations_have_escapes_and_are_cut_behind_them(formulation):
    response = {"town": "Žatec", "name": "東京 🚚 \x7f é" * 40, "quoted": 'a "b" \\ \n'}
    (text,) = shown(answer_with(response), LOOK, formulation=formulation)
    assert text == json.dumps({"error": "", "response": response})[:1_024] + CUT and len(text) == 1_027
    (plain,) = shown(answer_with(response), LOOK, formulation=formulation, protocol="tolerant")
    assert plain == json.dumps({"error": "", "response": response}, ensure_ascii=False)


def test_any_answer_is_shown_as_json_dumps_writes_it():
    rng = random.Random(49)
    letters = ["a", "é", "東", "🚚", '"', "\\", "\n", "\x7f", "\x01", " ", "\u2028", "<", "{", "'"]
    for _ in range(150):
        text = "".join(rng.choice(letters) for _ in range(rng.choice([0, 3, 100, 300, 1_100])))
        response = rng.choice([text, {text[:9]: [text, None, 1.5]}, [text], None])
        error = rng.choice(["", text[:20]])
        whole = json.dumps({"error": error, "response": response})
        expected = whole if len(whole) <= 1_024 else whole[:1_024] + CUT
        assert shown(answer_with(response, error), LOOK) == [expected]


def test_the_limit_of_characters_is_that_of_the_option():
    whole = json.dumps({"error": "", "response": "é" * 60})
    (text,) = shown(answer_with("é" * 60), LOOK, tools={"observation": "100"})
    assert text == whole[:100] + CUT
    (text,) = shown(answer_with("é" * 60), LOOK, tools={"observation": "900"})
    assert text == whole


def test_messages_about_calls_that_were_not_made_have_escapes_too():
    unknown, invalid = shown(PARCEL, call("東京"), 'Action: latest_for_swift_post\nAction Input: {"é": 1}')
    for text, part in ((unknown, "東京"), (invalid, "é")):
        assert text.isascii() and part in json.loads(text)["error"]


def test_what_is_stored_keeps_the_text_without_escapes():
    played = play("react", LOOK, finish("x"), task=answer_with("é" * 300))
    value = played.executions[0].values[0]
    assert value["text"] == played.executions[0].result and len(value["text"]) == 1_027 and value["truncated"]
    assert value["full"] == json.dumps({"error": "", "response": "é" * 300}, ensure_ascii=False)
    short = play("react", LOOK, finish("x"), task=answer_with("é")).executions[0].values[0]
    assert "truncated" not in short and short["full"] == '{"error": "", "response": "é"}'
    plain = play("react", LOOK, finish("x"), task=answer_with("e")).executions[0].values[0]
    assert plain == {"kind": "observation", "text": '{"error": "", "response": "e"}', "code": 0}


def test_earlier_tries_are_listed_with_the_observations_that_were_shown():
    played = play("dfsdt", LOOK, give_up(), LOOK, finish("x"), task=answer_with("Žatec"))
    prompt = next(prompt for prompt in played.prompts("policy") if "not the first try" in prompt)
    assert json.dumps('{"error": "", "response": "\\u017datec"}') in prompt and "Ž" not in prompt


# --- the setting


@pytest.mark.parametrize("name", ["react", "dfsdt"])
def test_tolerant_is_the_default_and_changes_nothing(name):
    replies = {"policy": ["I wonder.", LOOK, 'Action: Finish\nAction Input: {"final_answer": "x"}']}
    default, named = play_episode(name, replies), play_episode(name, replies, protocol="tolerant")
    assert default.digests == named.digests and default.outcome == named.outcome
    assert FORMULATIONS.load(name).read_settings(Agent({}, "tools"))["protocol"] == "tolerant"


def test_a_call_of_another_protocol_is_another_command():
    """So a stored result is not taken for a call that reads or shows differently."""
    made = [
        next(
            step.command
            for step in play("react", LOOK, finish("x"), protocol=name).steps
            if isinstance(step.command, Do)
        )
        for name in ("toolbench", "tolerant")
    ]
    assert made[0].action == made[1].action and made[0].digest != made[1].digest


@pytest.mark.parametrize("name", ["react", "dfsdt"])
def test_an_episode_that_stopped_anywhere_ends_as_without_the_stop(name):
    replies = ["I wonder.", call(OFFICES_NAME, town="Ombry"), 'Action: Finish\nAction Input: {"final_answer": "x"}']
    replies += [give_up("no"), LOOK, finish("in Ombry")]
    whole = play(name, *replies)
    asked = 0
    for kept in range(len(whole.steps)):
        again = play(name, *replies[asked:], journal=MemoryJournal(whole.steps[:kept]))
        assert (again.outcome, again.digests) == (whole.outcome, whole.digests), kept
        asked += whole.steps[kept].command.__class__.__name__ == "Ask"


@pytest.mark.parametrize("name", ["react", "dfsdt"])
def test_other_protocols_are_refused(name):
    with pytest.raises(SpecError, match="protocol must be one of toolbench, tolerant, not 'strict'"):
        FORMULATIONS.load(name).read_settings(Agent({}, "tools", settings={"protocol": "strict"}))


@pytest.mark.parametrize("name", ["sum2act", "rewoo", "open-ended"])
def test_it_is_a_setting_of_react_and_dfsdt(name):
    with pytest.raises(SpecError, match="protocol"):
        FORMULATIONS.load(name).read_settings(Agent({}, "tools", settings=TOOLBENCH))


def test_messages_are_replies_and_observations_alone():
    """Random runs: an assistant's message for each reply, and behind each call its observation."""
    rng = random.Random(49)
    pieces = ["I wonder.", "Thought: hm", LOOK, call("no_such", "try"), "Action: Finish\nAction Input: {'a': 1}", ""]
    for _ in range(100):
        replies = [rng.choice(pieces) for _ in range(rng.randrange(1, 9))]
        played = play("react", *replies, finish("x"))
        assert played.outcome.answer == "x"
        observations = iter(played.executions)
        expected = []
        for prompt, reply in zip(played.prompts("policy"), [*replies, ""], strict=True):
            assert [(one["role"], one["content"]) for one in chat_messages(prompt)[2:]] == expected
            expected.append(("assistant", reply))
            if "Action:" in reply:
                expected.append(("user", f"Observation: {next(observations).result}"))
