"""The plug-ins of a stored job: compared before a worker begins, and others accepted by a person."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from db.queries.jobs import get_job
from db.queue.job_changes import remove
from db.queue.plugins import accept_plugins
from lumos_queue.errors import SpecError
from lumos_queue.jobs.plugins import check_plugins, find_plugins, plugins_as_json
from lumos_queue.util.plugins import TRUSTED, Plugin, digest_of
from tests.scored_jobs import create_scored_job

OLD = {"group": "benchmarks", "name": "roman", "distribution": "lumos-roman", "version": "1.0", "digest": "aa"}
OTHER = {"group": "domains", "name": "roman", "distribution": "lumos-roman", "version": "1.0", "digest": "aa"}


def plugins_of(database, job):
    with database.engine.connect() as connection:
        return get_job(connection, job).plugins


@pytest.mark.parametrize("change", [{"distribution": "theirs"}, {"version": "1.1"}, {"digest": "ab"}])
def test_what_is_accepted_takes_the_place_of_what_was_and_keeps_it(database, change):
    job = create_scored_job(database, [[1]], plugins=[OLD, OTHER])
    assert accept_plugins(database, job, [OLD, OTHER], "ann") == [] and plugins_of(database, job) == [OLD, OTHER]
    assert accept_plugins(database, job, [OLD | change, OTHER], "ann") == ["roman"]
    first, other = plugins_of(database, job)
    code = {name: OLD[name] for name in ("distribution", "version", "digest")}
    (earlier,) = first.pop("earlier")
    assert first == OLD | change and other == OTHER and earlier.pop("until") > 0
    assert earlier == code | {"accepted_by": "ann"}
    assert accept_plugins(database, job, [OLD, OTHER], "bob") == ["roman"]
    assert [one["accepted_by"] for one in plugins_of(database, job)[0]["earlier"]] == ["ann", "bob"]


def test_a_plug_in_that_the_job_did_not_name_is_accepted_and_a_removed_job_is_said(database):
    job = create_scored_job(database, [[1]])
    assert accept_plugins(database, job, [OLD], "ann") == ["roman"]
    assert plugins_of(database, job)[0]["earlier"][0].keys() == {"until", "accepted_by"}
    remove(database, job)
    with pytest.raises(SpecError, match=rf"^Job {job} was removed\.$"):
        accept_plugins(database, job, [OTHER], "ann")


@pytest.fixture
def asked(tmp_path, monkeypatch) -> dict:
    """A request that needs two functions of one module."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("def plan(prompt): return '7'\ndef ground(prompt): return '8'\n")
    monkeypatch.syspath_prepend(tmp_path)
    TRUSTED.add_named(f"{name}:plan")
    roles = {
        "planner": f"function:{name}:plan",
        "grounder": f"function:{name}:ground",
        "again": f"function:{name}:plan",
    }
    return {"benchmark": "wordmath", "formulation": "iterative", "agent": {"roles": roles, "domain": "maths"}}


def stored(asked, plugins) -> SimpleNamespace:
    return SimpleNamespace(id="abcdefgh", kind="evaluate", spec={"infer": asked}, plugins=plugins)


def test_a_job_names_each_plug_in_that_it_needs_once_and_nothing_built_in(asked):
    found = find_plugins("evaluate", {"infer": asked})
    module = asked["agent"]["roles"]["planner"].split(":")[1]
    assert [one.name for one in found] == [f"{module}:ground", f"{module}:plan"]
    assert {(one.group, one.digest) for one in found} == {("endpoints", digest_of(module))}
    teacher = find_plugins("convert", {"source": "wordmath", "teacher": f"function:{module}:plan"})
    assert [one.name for one in teacher] == [f"{module}:plan"] and find_plugins("train", {"recipe": "sft"}) == []
    assert [Plugin.from_json(one) for one in plugins_as_json(found)] == found


@pytest.mark.parametrize("field", ["distribution", "version", "digest"])
def test_a_worker_with_other_code_refuses_the_job_and_one_with_the_same_does_not(asked, field):
    kept = plugins_as_json(find_plugins("evaluate", {"infer": asked}))
    check_plugins(stored(asked, [one | {"earlier": [{"digest": "x"}]} for one in kept]))
    check_plugins(stored(asked, None))  # of before there were plug-ins
    with pytest.raises(SpecError, match=r"here, and .* in job abcdefgh: .*lumos resume abcdefgh --accept-plugin$"):
        check_plugins(stored(asked, [kept[0], kept[1] | {field: "0123"}]))
    with pytest.raises(SpecError, match=r"here, and not named in job abcdefgh"):
        check_plugins(stored(asked, kept[:1]))
    with pytest.raises(SpecError, match=r"^Not installed here: roman \(benchmarks\) of lumos-roman 1\.0, code aa\. "):
        check_plugins(stored(asked, [*kept, OLD]))
