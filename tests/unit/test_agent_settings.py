"""--setting and --sampling: what becomes of them, and what is refused before a job is stored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lumos_queue.cli.job_tables import SETTINGS, print_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation, Setting
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.agent_settings import LARGEST, read_samplings, read_settings, split_settings
from lumos_queue.submission.job_request import Basis, make_inference_job
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.stored_request import change_request

STATE = Sampling(temperature=0.2, max_tokens=900, stop=())


def _children(name: str, value: str) -> int:
    if value not in ("1", "2", "3"):
        raise SpecError(f"--setting {name} must be 1, 2 or 3, not '{value[:40]}'.")
    return int(value)


SEARCH = Formulation(
    "search",
    lambda task, agent: iter(()),
    ("policy", "state_manager"),
    settings={"children": Setting("2", "how many children a node may have", _children)},
    limits=Limits(calls=200, depth=36),
    samplings={"state_manager": STATE},
    prefixes=lambda agent: {"policy": "You may use functions.\n"},
)
PLAIN = replace(SEARCH, name="plain", settings={}, limits=Limits(), samplings={}, roles=("policy",))
ROLES = ("policy", "state_manager", "qa")
COMMON = Sampling(temperature=0.7, bos=False)


def test_limits_are_the_formulations_with_those_given():
    assert read_settings(SEARCH, {}).limits == Limits(calls=200, depth=36)
    found = read_settings(SEARCH, {"calls": "0", "tokens": "9000", "depth": "12", "unit": "calls", "children": "3"})
    assert found.limits == Limits(tokens=9000, depth=12, unit="calls")
    assert found.settings == {"children": "3"}, "only those given, as they were given"
    assert read_settings(PLAIN, {"calls": "3", "actions": "4"}).limits == Limits(calls=3, actions=4)


@pytest.mark.parametrize(
    ("formulation", "given", "message"),
    [
        (PLAIN, {"depth": "3"}, "The formulation 'plain' has no limit of depth: leave out --setting depth=…."),
        (PLAIN, {"unit": "calls"}, "has no limit of depth: leave out --setting unit=…."),
        (SEARCH, {"steps": "3"}, "The formulation 'search' has no limit of steps: leave out --setting steps=…."),
        (
            SEARCH,
            {"width": "3"},
            "No setting of 'search' called 'width'. Choose one of: actions, calls, children, depth, tokens, unit.",
        ),
        (PLAIN, {"children": "3"}, "No setting of 'plain' called 'children'. Choose one of: actions, calls, tokens."),
        (SEARCH, {"calls": "-1"}, f"--setting calls must be a whole number from 0 to {LARGEST}, not '-1'."),
        (SEARCH, {"calls": "1.5"}, "not '1.5'"),
        (SEARCH, {"calls": str(LARGEST + 1)}, "must be a whole number"),
        (SEARCH, {"calls": "9" * 5000}, "must be a whole number"),
        (SEARCH, {"calls": "٣"}, "must be a whole number"),
        (SEARCH, {"unit": "hops"}, "The unit of depth must be one of nodes, calls, not 'hops'."),
    ],
)
def test_a_setting_that_cannot_be_is_one_line_with_the_way_out(formulation, given, message):
    with pytest.raises(SpecError) as caught:
        read_settings(formulation, given)
    assert message in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_role_is_sampled_as_the_formulation_has_it_but_for_what_is_given():
    assert read_samplings(PLAIN.samplings, ROLES, COMMON, {}) == {}
    assert read_samplings(SEARCH.samplings, ROLES, COMMON, {}) == {"state_manager": STATE}
    given = {"policy.temperature": "1", "policy.top_p": "0.5", "state_manager.max_tokens": "64", "qa.max_tokens": "7"}
    assert read_samplings(SEARCH.samplings, ROLES, COMMON, given) == {
        "policy": replace(COMMON, temperature=1.0, top_p=0.5),
        "state_manager": replace(STATE, max_tokens=64),
        "qa": replace(TOOL_ROLES["qa"], max_tokens=7),
    }


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("temperature", "1", "names no role: expected --sampling ROLE.NAME=VALUE."),
        ("router.temperature", "1", "No role that --sampling can set here called 'router'. Choose one of: policy, qa"),
        (
            "policy.stop",
            "x",
            "No setting of --sampling called 'stop'. Did you mean 'top_p'? Choose one of: beams, "
            "epsilon, max_tokens, temperature, top_p.",
        ),
        ("policy.temperature", "-1", "policy.temperature must be a finite number that is not negative, not '-1'."),
        ("policy.temperature", "nan", "must be a finite number"),
        ("policy.temperature", "inf", "must be a finite number"),
        ("policy.temperature", "warm", "not 'warm'"),
        ("policy.temperature", "1_0", "not '1_0'"),
        ("policy.temperature", "٣", "must be a finite number"),
        ("policy.temperature", "-0", "must be a finite number"),
        ("policy.temperature", " 1", "must be a finite number"),
        ("policy.temperature", "", "not ''"),
        ("policy.temperature", "1e999", "must be a finite number"),
        ("policy.temperature", "9" * 5_000, "must be a finite number"),
        (".temperature", "1", "No role that --sampling can set here called ''"),
        ("policy.", "1", "No setting of --sampling called ''"),
        ("a.policy.top_p", "1", "called 'a.policy'"),
        ("x" * 5_000 + ".top_p", "1", "No role that --sampling can set here called 'xxx"),
        ("policy." + "x" * 5_000, "1", "No setting of --sampling called 'xxx"),
        ("policy.top_p", "1.1", "--sampling policy.top_p must be a number from 0 to 1, not '1.1'."),
        ("policy.max_tokens", "0", f"policy.max_tokens must be a whole number from 1 to {LARGEST}, not '0'."),
        ("policy.max_tokens", "1e3", "must be a whole number"),
        ("policy.beams", "1001", "--sampling policy.beams must be a whole number from 0 to 1000, not '1001'."),
        ("policy.beams", "2.5", "must be a whole number from 0 to 1000"),
        ("policy.epsilon", "1.01", "--sampling policy.epsilon must be a number from 0 to 1, not '1.01'."),
        ("policy.epsilon", "-0.1", "must be a number from 0 to 1"),
    ],
)
def test_a_sampling_that_cannot_be_is_one_line_with_the_way_out(name, value, message):
    with pytest.raises(SpecError) as caught:
        read_samplings(SEARCH.samplings, ROLES, COMMON, {name: value})
    assert message in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 300


DEPLOYED = {"broker_url": "redis://127.0.0.1:9/0"}  # nobody is asked who they are
OPTIONS = InferenceRequest(
    benchmark="wordmath",
    split="test",
    formulation="search",
    limit=2,
    roles=("policy=tgi://a:1", "state_manager=tgi://b:2"),
)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(FORMULATIONS, "_objects", {"search": SEARCH, "plain": PLAIN})


def request(tmp_path, **changes):
    settings, basis = Settings(home=tmp_path, **DEPLOYED), Basis(sampling=Sampling(temperature=0.7))
    return make_inference_job("evaluate", replace(OPTIONS, **changes), Deployment(settings), print, basis=basis)[0]


def test_a_job_keeps_what_was_asked_for_and_is_read_back_as_it_was(tmp_path, registered):
    job = request(tmp_path, settings=("children=3", "depth=12"), samplings=("policy.temperature=1",))
    assert isinstance(job, Evaluate)
    agent = job.infer.agent
    assert (agent.limits, agent.settings) == (Limits(calls=200, depth=12), {"children": "3"})
    assert agent.samplings == {"policy": replace(agent.sampling, temperature=1.0), "state_manager": STATE}
    assert agent.sampling.temperature == 0.7
    stored = json.loads(json.dumps(job.as_json()))
    assert stored["infer"]["agent"]["limits"] == {"calls": 200, "depth": 12}
    assert stored["infer"]["agent"]["settings"] == {"children": "3"}
    read = read_job("evaluate", stored)
    assert read == job and read.infer.agent.digest == agent.digest
    assert agent.digest != request(tmp_path, settings=("children=2",)).infer.agent.digest


def test_demonstrations_are_refused_where_the_prompts_show_none(tmp_path, registered):
    assert request(tmp_path, shots=0).prompt_prefixes() == {"policy": "You may use functions.\n"}
    with pytest.raises(SpecError, match="The formulation 'search' shows no demonstrations: leave out --shots"):
        request(tmp_path, shots=1)
    FORMULATIONS._objects["search"] = replace(SEARCH, prefixes=None, demonstrated=True)
    with pytest.raises(SpecError, match="Domain 'maths' has 4 demonstrations, not 99: see --shots"):
        request(tmp_path, shots=99)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": ("children=9",)}, "--setting children must be 1, 2 or 3, not '9'."),
        ({"settings": ("calls",)}, "--setting calls cannot be read: expected --setting NAME=VALUE."),
        ({"settings": ("calls=1", "calls=2")}, "--setting calls=… was given twice."),
        ({"samplings": ("policy.warmth=1",)}, "No setting of --sampling called 'warmth'"),
        ({"samplings": ("planner.top_p=1",)}, "Choose one of: policy, state_manager."),
        ({"roles": ("policy=tgi://a:1",)}, "needs --role policy=URL and --role state_manager=URL"),
    ],
)
def test_what_cannot_be_is_refused_before_the_job_is_stored(tmp_path, registered, changes, message):
    with pytest.raises(SpecError) as caught:
        request(tmp_path, **changes)
    assert message in str(caught.value)


def test_a_job_is_shown_with_its_limits_settings_and_samplings(tmp_path, registered, capsys):
    job = request(tmp_path, settings=("children=3", "depth=12"), samplings=("policy.temperature=1",))
    row = dict.fromkeys((*SETTINGS, "real_state", "chosen"), "") | {"job": "x", "items": {}, "tags": {}, "parent": None}
    row |= dict.fromkeys(("code_versions", "plugins", "problems", "endpoints"), ())
    print_job(row | {"spec": job.as_json()})
    said = " ".join(capsys.readouterr().out.split())
    assert "limits calls=200 depth=12 settings children=3" in said
    assert "sampling of policy temperature 1.0, top_p 1.0, max_tokens 512" in said
    assert "sampling of state_manager temperature 0.2, top_p 1.0, max_tokens 900" in said
    FORMULATIONS._objects["search"] = PLAIN
    plain = request(tmp_path, roles=("policy=tgi://a:1",))
    print_job(row | {"spec": plain.as_json()})
    said = capsys.readouterr().out
    assert not any(word in said for word in ("limits", "settings", "sampling of"))


def test_calls_of_a_tool_agent_are_a_limit_and_how_functions_are_called():
    react = FORMULATIONS.load("react")
    for given, limit, own in (
        (["calls=60"], 60, {}),
        (["calls=native"], 0, {"calls": "native"}),
        (["calls=native", "calls=60", "tries=2"], 60, {"calls": "native", "tries": "2"}),
    ):
        found = read_settings(react, *split_settings(react, given))
        assert (found.limits, found.settings) == (replace(react.limits, calls=limit), own)
    for twice in (["calls=1", "calls=2"], ["calls=native", "calls=text"]):
        with pytest.raises(SpecError, match="--setting calls=… was given twice"):
            split_settings(react, twice)


def test_both_are_kept_when_a_job_is_run_again_and_each_is_changed_by_itself():
    dfsdt = FORMULATIONS.load("dfsdt")
    limits = replace(dfsdt.limits, calls=60)
    agent = Agent({"policy": "chat://h:1"}, "tools", limits=limits, settings={"calls": "native"})
    stored = Infer("toolworld", "", "I2-inst", "dfsdt", agent)
    for changes, limit, own in (
        ([], 60, {"calls": "native"}),
        (["calls=70"], 70, {"calls": "native"}),
        (["calls=text"], 60, {"calls": "text"}),
    ):
        options, _ = change_request(stored, InferenceRequest(settings=tuple(changes)), ("settings",))
        found = read_settings(dfsdt, *split_settings(dfsdt, options.settings))
        assert (found.limits.calls, found.settings) == (limit, own)
    other, _ = change_request(stored, InferenceRequest(formulation="rewoo"), ("formulation",))
    assert other.settings == ("calls=60",)
