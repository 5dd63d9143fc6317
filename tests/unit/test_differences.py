"""What differs between jobs, in words: on the requests of every kind of job that are kept for tests/integration."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from lumos_queue.reports.differences import describe_differences, differences
from lumos_queue.reports.model_names import BY_RULE, FROM_SCRATCH, models_of, name_models

SPECS = json.loads((Path(__file__).parents[1] / "integration" / "job_specs.json").read_text())


def job(kind: str, identifier: str = "a", **changes):
    """A job's row. `changes`: columns, or by `agent` what differs in its agent."""
    stored = copy.deepcopy(SPECS[kind])
    agent = changes.pop("agent", {})
    stored["spec"].get("infer", stored["spec"]).get("agent", {}).update(agent)
    benchmark = stored["spec"].get("infer", stored["spec"]).get("benchmark", "")
    row = {"id": identifier, "name": "", "benchmark": benchmark, "code_version": "1", "chosen": ""} | stored | changes
    return SimpleNamespace(**row)


def models(url: str, **others: str) -> dict:
    return {"roles": {"planner": url, "grounder": url, **others}}


def test_jobs_of_equal_requests_differ_in_nothing():
    assert differences([job("evaluate"), job("evaluate")]) == [{}, {}]
    assert differences([]) == [] and differences([job("evaluate")]) == [{}]


def test_two_models_are_told_apart_by_short_names():
    one, other = job("evaluate", agent=models("local:/m/fits/small")), job("evaluate", agent=models("tgi://gpu-1:8080"))
    assert differences([one, other]) == [{"model": "small"}, {"model": "gpu-1:8080"}]


def test_a_tool_of_the_agent_is_not_its_model():
    one = job("evaluate", agent=models("local:/a", qa="tgi://q:1"))
    assert models_of(one) == {"planner": ("local:/a", ""), "grounder": ("local:/a", "")}


def test_a_model_for_each_role_is_named_by_its_role():
    one = job("evaluate", agent=models("local:/m/a") | {"roles": {"planner": "local:/m/a", "grounder": "local:/m/b"}})
    other = job("evaluate", agent={"roles": {"planner": "local:/m/c", "grounder": "local:/m/b"}})
    assert differences([one, other]) == [{"planner": "a"}, {"planner": "c"}]


def test_what_was_asked_beside_the_models_is_told_by_its_name():
    one = job("evaluate", name="first", seed=1, agent={"tools": {"ranker": "bm25"}})
    other = job("evaluate", name="", seed=2, agent={"sampling": {"temperature": 0.7}})
    found = differences([one, other])
    assert list(found[0]) == ["name", "seed", "temperature", "max_tokens", "ranker", "stop", "top_p"]
    assert (found[0]["name"], found[0]["ranker"], found[1]["temperature"]) == ("first", "bm25", "0.7")
    assert "name" not in found[1] and "ranker" not in found[1]
    assert describe_differences(found[0])[:3] == ["first", "seed 1", "temperature 0.0"]


def test_weights_are_told_only_where_the_models_have_one_name():
    here = {"planner": "1" * 64, "grounder": "1" * 64}
    before, after = models("local:/m/a") | {"weights": here}, models("local:/m/a") | {"weights": {"planner": "2" * 64}}
    assert differences([job("evaluate", agent=before), job("evaluate", agent=after)]) == [
        {"weights": "1" * 12},
        {"weights": "2" * 12},
    ]
    other = models("local:/m/b") | {"weights": {"planner": "2" * 64}}
    assert differences([job("evaluate", agent=before), job("evaluate", agent=other)]) == [
        {"model": "a"},
        {"model": "b"},
    ]


def test_what_a_server_says_it_serves_is_its_name():
    jobs = [job("evaluate", "a", agent=models("tgi://h:1")), job("evaluate", "b", agent=models("tgi://h:1"))]
    told = {"a": {"tgi://h:1": "ai2/lumos-7b"}, "b": {"tgi://h:1": "ai2/lumos-13b"}}
    assert differences(jobs, told) == [{"model": "lumos-7b"}, {"model": "lumos-13b"}]


def test_fits_differ_by_what_their_recipe_says():
    found = differences([job("train"), job("train, for long")])
    assert found[0]["formulation"] == "iterative" and found[1] | {"seed": "4", "steps": "70"} == found[1]
    assert "folder" not in found[0]


def test_jobs_of_different_kinds_can_be_asked_too():
    found = differences([job(name) for name in SPECS])
    assert len(found) == len(SPECS) and all(one["kind"] for one in found)
    assert found[list(SPECS).index("convert")]["teacher"] == BY_RULE
    assert found[list(SPECS).index("train")]["start"] == FROM_SCRATCH


@pytest.mark.parametrize(
    "models, names",
    [
        ([("local:/r/fit/export", ""), ("local:/r/other/export", "")], ["fit/export", "other/export"]),
        ([("local:/a/m", ""), ("local:/b/m", "")], ["a/m", "b/m"]),
        ([("openai://h:1?model=org/llama-8b", "")], ["llama-8b"]),
        ([("openai://h:1?model=org/m", ""), ("openai://h:1?model=us/m", "")], ["org/m", "us/m"]),
        ([("chat://h:1?model=m", ""), ("chat://h:2?model=m", "")], ["m at h:1", "m at h:2"]),
        ([("tgi://a:1,b:2,c:3", "")], ["a:1 +2"]),
        ([("tgi://a:1,b:2", ""), ("tgi://a:1,c:2", "")], ["a:1,b:2", "a:1,c:2"]),
        ([("tgi://[::1", "")], ["tgi://[::1"]),
        ([("local:", ""), ("scripted:x", ""), ("", "")], ["local:", "x", ""]),
    ],
)
def test_names_are_as_short_as_keeps_models_apart(models, names):
    assert list(name_models(models).values()) == names
