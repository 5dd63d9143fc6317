"""A formulation and a benchmark that do not belong together are refused at submission, with those that would do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.agent_settings import read_samplings, read_settings
from lumos_queue.submission.job_request import make_inference_job
from tests.unit.test_agent_settings import DEPLOYED, OPTIONS


def request(folder, benchmark: str, formulation: str, **changes):
    options = replace(
        OPTIONS,
        benchmark=benchmark,
        formulation=formulation,
        planner="tgi://a:1",
        grounder="tgi://a:1",
        roles=(),
        split={"openagi": "labelled", "toolbench": "I1-inst"}.get(benchmark, "test"),
        **changes,
    )
    return make_inference_job("evaluate", options, Deployment(Settings(home=folder, **DEPLOYED)), print)[0]


@pytest.mark.parametrize(
    ("benchmark", "formulation", "brings", "fitting"),
    [
        ("wordmath", "react", "no functions but has actions, which", {"iterative", "one-pass"}),
        ("wordmath", "model-synthesis", "no functions but has actions, which", {"iterative", "one-pass"}),
        ("toolbench", "iterative", "functions, which", {"dfsdt", "react", "rewoo", "sum2act"}),
        ("toolbench", "model-synthesis", "functions, which", {"dfsdt", "react", "rewoo", "sum2act"}),
        ("openagi", "iterative", "inputs for expert models, which", {"model-synthesis"}),
        ("openagi", "react", "inputs for expert models, which", {"model-synthesis"}),
    ],
)
def test_actions_of_another_kind_are_refused_with_what_would_do(tmp_path, benchmark, formulation, brings, fitting):
    with pytest.raises(SpecError) as raised:
        request(tmp_path, benchmark, formulation)
    said, _, names = str(raised.value).partition("Choose one of: ")
    assert f"A task of '{benchmark}' brings {brings} the formulation '{formulation}' does not call." in said
    offered = set(names.removesuffix(".").split(", "))
    assert fitting <= offered and not offered & ({"cot", "iterative", "react", "model-synthesis"} - fitting)


def test_a_formulation_that_runs_no_actions_needs_none(tmp_path):
    with pytest.raises(SpecError, match="runs no actions: leave out --tool"):
        request(tmp_path, "wordmath", "cot", tools=("precision=1",))


def test_a_benchmark_that_is_judged_by_actions_needs_them(tmp_path):
    with pytest.raises(SpecError, match=r"'openagi' is judged by the actions done.*Choose one of: model-synthesis\.$"):
        request(tmp_path, "openagi", "cot")


def test_only_a_plan_that_is_shown_can_be_approved_beforehand(tmp_path):
    with pytest.raises(SpecError, match="'iterative' shows no plan to a person: leave out --yes"):
        request(tmp_path, "wordmath", "iterative", yes=True)


def test_a_role_is_sampled_as_the_agent_but_for_what_is_given(tmp_path):
    job = request(tmp_path, "wordmath", "iterative", max_tokens=77, samplings=("planner.top_p=1",))
    assert job.infer.agent.samplings == {"planner": replace(job.infer.agent.sampling, top_p=1.0)}
    assert job.infer.agent.sampling.max_tokens == 77


ABLATIONS = [{"schema": "zero-shot"}, {"schema": "prompt-1"}, {"schema": "few-shot"}, {"duplicates": "reject"}]


@pytest.mark.parametrize("given", ABLATIONS)
def test_every_ablation_of_model_synthesis_is_a_setting_that_makes_another_agent(given):
    agents = []
    for chosen in ({}, given):
        found = read_settings(FORMULATION, chosen)
        agents.append(Agent({"planner": "x"}, "experts", limits=found.limits, settings=found.settings))
        FORMULATION.read_settings(agents[-1])
    assert agents[0].digest != agents[1].digest
    assert Agent.from_json(json.loads(json.dumps(agents[1].as_json()))) == agents[1]


def test_the_planner_of_model_synthesis_writes_whole_plans():
    found = read_samplings(FORMULATION.samplings, ("planner",), Agent({}, "experts").sampling, {"planner.top_p": "1"})
    assert found["planner"].max_tokens == 512 and found["planner"].stop == () and found["planner"].top_p == 1.0
