"""--stop, --system, --prompt and --request: how they are read, what is refused, and what each role gets."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from lumos_queue.endpoints.base import LINE_BREAK, Sampling
from lumos_queue.endpoints.registry import SCHEMES, default_stop
from lumos_queue.endpoints.request_fields import count_most_tokens, merge_fields, merge_into_control
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.cot import FORMULATION as COT
from lumos_queue.formulations.iterative import FORMULATION as ITERATIVE
from lumos_queue.formulations.react import POLICY_SAMPLING
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.formulations.rewoo import WRITING
from lumos_queue.prompts.agent import Agent
from lumos_queue.reports.agent_requests import describe_requests
from lumos_queue.submission.request_options import (
    MAX_DEPTH,
    MAX_TEXT,
    check_stops,
    check_texts,
    read_fields,
    read_system,
    read_template,
    replace_fields,
    unescape_stops,
    write_fields,
)
from lumos_queue.submission.role_samplings import ChosenSampling, check_fields, find_stored_stop, sample_roles, stop_of

CHAT, TEXT = "chat://h:1?model=m", "openai://h:1?model=m"
BOTH = {"planner": CHAT, "grounder": "tgi://h:2"}


def refusal(function, *arguments) -> str:
    with pytest.raises(SpecError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400
    return message


def agent(roles: dict[str, str], domain: str = "maths", **fields) -> Agent:
    return Agent(roles, domain, **fields)


def stops(formulation: str, roles: dict[str, str], **chosen) -> dict[str, tuple[str, ...]]:
    sampled = sample_roles(agent(roles), formulation, ChosenSampling(**chosen))
    return {role: (sampled.samplings.get(role) or sampled.sampling).stop for role in roles}


def test_stop_strings_are_read_as_they_are_written():
    assert unescape_stops([]) is None
    assert unescape_stops([r"\n", r"a\tb", r"\\n", r"\d", "\n", ""]) == ("\n", "a\tb", r"\n", r"\d", "\n", "")
    assert check_stops(None) is None
    assert check_stops([""]) == check_stops([]) == ()
    assert check_stops(["a", "b", "a"]) == ("a", "b")
    assert "--stop '' means no stop strings" in refusal(check_stops, ["a", ""])
    assert "cannot be stored" in refusal(check_stops, ["a\0"])
    assert "--stop is 5: expected a text" in refusal(check_stops, [5])


def test_texts_come_from_files_that_are_regular(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("Line one\nLine two\n\n")
    assert (read_system(f"@{file}"), read_system("a@b"), read_system(""), read_system(None)) == (
        "Line one\nLine two\n\n",
        "a@b",
        "",
        None,
    )
    assert (read_template(str(file)), read_template(file), read_template(""), read_template(None)) == (
        "Line one\nLine two\n",
        "Line one\nLine two\n",
        "",
        None,
    )
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other").write_bytes(b"\xff\xfe")
    assert "is a pipe" in refusal(read_template, str(tmp_path / "pipe"))
    assert "is a folder" in refusal(read_system, f"@{tmp_path}")
    assert "not UTF-8" in refusal(read_template, str(tmp_path / "other"))
    assert "cannot be read: No such file" in refusal(read_system, f"@{tmp_path / 'none'}")


def test_texts_that_have_no_effect_are_refused():
    check_texts(COT, "", "{question}", 0)
    check_texts(ITERATIVE, None, "", 4)
    for system, prompt, names in (
        ("Hi", "", "cot, direct"),
        ("", "", "cot, direct"),
        (None, "{question}", "cot, direct, model-synthesis"),
    ):
        assert f"leave it out, or choose one of: {names}." in refusal(check_texts, ITERATIVE, system, prompt, 0)
    assert "has no {question}" in refusal(check_texts, COT, None, "{choices}", 0)
    assert "has no {examples}" in refusal(check_texts, COT, None, "{question}", 2)
    assert f"at most {MAX_TEXT:,}" in refusal(check_texts, COT, "a" * (MAX_TEXT + 1), "", 0)
    assert "cannot be stored" in refusal(check_texts, COT, "a\0", "", 0)


def test_fields_of_requests_are_json_with_or_without_a_role():
    given = [
        "top_k=5",
        'planner.reasoning_effort="low"',
        "max_tokens=null",
        'chat_template_kwargs={"a": [1, {"=": 2}]}',
    ]
    fields = read_fields(given)
    assert fields == {
        "": {"top_k": 5, "max_tokens": None, "chat_template_kwargs": {"a": [1, {"=": 2}]}},
        "planner": {"reasoning_effort": "low"},
    }
    assert read_fields(write_fields(fields)) == fields
    assert read_fields([""]) == read_fields([]) == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["top_k"], "--request top_k cannot be read: expected --request [ROLE.]NAME=JSON."),
        (["=5"], "cannot be read"),
        ([".top_k=5"], "cannot be read"),
        (["planner.=5"], "cannot be read"),
        (["effort=low"], "--request effort=low is not JSON: write a text as effort='\"low\"'."),
        (["effort="], "is not JSON"),
        (["a=NaN"], "is not JSON"),
        (["a=1", "a=2"], "--request a=… was given twice."),
        (["model=1"], "--request cannot set the field 'model'"),
        (["planner.messages=[]"], "cannot set the field 'messages'"),
        (["prompt=1"], "cannot set the field 'prompt'"),
        (["n=2"], "cannot set the field 'n'"),
        (["Stream=true"], "cannot set the field 'Stream'"),
        (["inputs=1"], "cannot set the field 'inputs'"),
        (["parameters={}"], "cannot set the field 'parameters'"),
        ([r'a="\u0000"'], "cannot be stored"),
        ([r'a="\ud800"'], "is not JSON"),
        (["a" + "=" + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)], f"more than {MAX_DEPTH} levels deep"),
        (["a=" + "[" * 100_000], "is not JSON"),
        (["a=" + "[" * 500 + "]" * 500], "cannot be written as JSON"),
        ([f'a="{"b" * MAX_TEXT}"'], "characters: choose fewer"),
        (["a\0=1"], "cannot be stored"),
    ],
)
def test_a_field_that_cannot_be_sent_is_one_line(given, message):
    assert message in refusal(read_fields, given)


def test_a_python_value_that_is_not_json_is_refused():
    for value in (float("nan"), {1: 2}, b"a", object()):
        refusal(write_fields, {"": {"a": value}})


def test_stored_fields_are_replaced_by_name():
    stored = {"planner": {"a": 1, "b": 2}, "grounder": {"a": 1}}
    assert replace_fields(stored, []) == ["planner.a=1", "planner.b=2", "grounder.a=1"]
    assert replace_fields(stored, ["a=3"]) == ["planner.b=2", "a=3"]
    assert replace_fields(stored, ["planner.a=3"]) == ["planner.b=2", "grounder.a=1", "planner.a=3"]
    assert replace_fields(stored, ["", "c=3"]) == ["c=3"] and replace_fields(stored, [""]) == []


def test_stop_strings_follow_the_scheme_of_the_address():
    lines = {"tgi", "tgis", "openai", "openais", "local", "scripted"}
    assert {name for name in SCHEMES if default_stop(f"{name}:x") == LINE_BREAK} == lines
    assert not any(default_stop(f"{name}:x") for name in ("chat", "chats", "function"))
    assert stop_of("cot", CHAT) == () and stop_of("cot", CHAT, 2) == stop_of("cot", TEXT) == LINE_BREAK


def test_a_plugin_s_formulation_gets_whole_replies_over_any_scheme():
    own = Formulation("own", lambda task, agent: iter(()), ("solver", "writer"), samplings={"writer": WRITING})
    FORMULATIONS.add("__main__:own", own, "0" * 64)
    assert stop_of("__main__:own", TEXT) == () and stop_of("__main__:own", TEXT, 2) == LINE_BREAK
    assert stops("__main__:own", {"solver": TEXT, "writer": TEXT}) == {"solver": (), "writer": WRITING.stop}


def test_where_roles_agree_all_have_it_and_else_each_is_named():
    both = sample_roles(agent(dict.fromkeys(BOTH, CHAT)), "iterative")
    assert (both.sampling, both.samplings) == (Sampling(stop=()), {})
    mixed = sample_roles(agent(BOTH), "iterative")
    assert mixed.sampling == Sampling()
    assert mixed.samplings == {"planner": Sampling(stop=()), "grounder": Sampling()}
    text = agent(dict.fromkeys(BOTH, TEXT) | {"qa": CHAT})
    assert sample_roles(text, "iterative") == text, "nothing is stored of agents without chat models"
    assert stops("iterative", BOTH, stop=("Q:",)) == {"planner": ("Q:",), "grounder": ("Q:",)}
    assert sample_roles(agent(BOTH), "iterative", version=2).samplings == {}


def test_what_is_given_for_all_reaches_the_roles_that_a_formulation_samples():
    common = Sampling(0.5, max_tokens=99)
    tools = agent({"policy": CHAT, "simulator": CHAT}, "tools", sampling=common)
    assert sample_roles(tools, "react").samplings == {"policy": POLICY_SAMPLING}, "nothing was given"
    chosen = ChosenSampling({"temperature": 0.5, "max_tokens": 99}, ("END",))
    assert sample_roles(tools, "react", chosen).samplings == {"policy": Sampling(0.5, 1.0, 99, ("END",))}
    strongest = replace(chosen, samplings={"policy.max_tokens": "7", "simulator.temperature": "1"})
    assert sample_roles(tools, "react", strongest).samplings == {
        "policy": Sampling(0.5, 1.0, 7, ("END",)),
        "simulator": replace(TOOL_ROLES["simulator"], temperature=1.0),
    }


def test_fields_go_to_all_models_of_the_formulation_or_to_the_role_that_is_named():
    roles = BOTH | {"judge": CHAT}
    found = sample_roles(agent(roles), "iterative", ChosenSampling(fields={"": {"k": 1, "l": 2}, "planner": {"k": 3}}))
    assert {role: sampling.request for role, sampling in found.samplings.items()} == {
        "planner": {"k": 3, "l": 2},
        "grounder": {"k": 1, "l": 2},
    }
    judged = sample_roles(agent(roles), "iterative", ChosenSampling(fields={"judge": {"k": 1}}))
    assert judged.samplings["judge"] == replace(TOOL_ROLES["judge"], request={"k": 1})
    same = sample_roles(agent(dict.fromkeys(BOTH, CHAT)), "iterative", ChosenSampling(fields={"": {"k": None}}))
    assert same.samplings == {} and same.sampling.request == {"k": None}
    assert Agent.from_json(same.as_json()) == same


def test_endpoints_without_fields_and_unknown_roles_are_refused():
    fields = ChosenSampling(fields={"": {"k": 1}})
    for url in ("local:/m", "scripted:/r", "function:a.b:c"):
        message = refusal(check_fields, {"solver": url}, "cot", fields)
        assert message.startswith(f"--request k: the solver at {url} takes no fields of requests.")
    unknown = ChosenSampling(fields={"plan": {"k": 1}})
    assert "Choose one of: grounder, planner" in refusal(check_fields, BOTH, "iterative", unknown)
    check_fields(BOTH | {"judge": "local:/m"}, "iterative", fields)
    assert "the judge at" in refusal(
        check_fields, BOTH | {"judge": "local:/m"}, "iterative", ChosenSampling(fields={"judge": {"k": 1}})
    )


def test_stop_strings_that_were_given_are_known_from_those_of_an_address():
    for formulation, roles in (("iterative", BOTH), ("react", {"policy": CHAT}), ("cot", {"solver": CHAT})):
        for version in (2, 3):
            for stop in (None, ("Q:",)):
                stored = sample_roles(agent(roles), formulation, ChosenSampling(stop=stop), version)
                assert find_stored_stop(stored, formulation, version) == stop
    assert find_stored_stop(sample_roles(agent({"solver": TEXT}), "cot", ChosenSampling(stop=())), "cot", 3) == ()


def test_what_was_chosen_is_told_in_one_line_each():
    long = "word " * 30
    chosen = ChosenSampling(stop=("\n", "Q:"), fields={"": {"k": None, "s": "low"}})
    stored = replace(sample_roles(agent({"solver": CHAT}), "cot", chosen), system="", prompt=long)
    told = describe_requests(stored.as_json(), "cot")
    assert told.pop("prompt").startswith(f"{long[:60]}… (")
    assert told == {"stop": r"'\n', 'Q:'", "request k": "left out", "request s": '"low"', "system": "none"}
    assert describe_requests(agent(BOTH).as_json(), "iterative") == {}
    tool_agent = sample_roles(agent({"policy": CHAT}, "tools"), "react")
    assert describe_requests(tool_agent.as_json(), "react") == {}
    assert describe_requests(sample_roles(agent(BOTH), "iterative").as_json(), "iterative") == {
        "stop of planner": "none"
    }


def test_fields_replace_those_of_a_request_and_none_leaves_out():
    body = {"model": "m", "max_tokens": 512, "stop": None}
    assert merge_fields(body, {}) == body
    assert merge_fields(body, {"max_tokens": None, "k": 1}) == {"model": "m", "stop": None, "k": 1}
    limited = {"max_tokens": None, "max_completion_tokens": 9_000, "k": 9_000}
    assert merge_into_control({"max_tokens": 1}, limited) == {"max_completion_tokens": 512, "k": 9_000}
    assert count_most_tokens(Sampling(request={"max_completion_tokens": 9_000, "max_tokens": "many"})) == 9_000
    assert count_most_tokens(Sampling(max_tokens=7)) == 7
