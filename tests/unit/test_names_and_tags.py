"""Names and tags of jobs: on every command that submits one, whatever text they are, and never part of a request."""

from __future__ import annotations

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.submission.tags import MAX_NAME, read_name, read_name_and_tags, read_tags
from tests.command_tree import all_commands

#: Commands that store no job. Any other must take --name and --tag.
STORES_NO_JOB = {
    "approve",
    "audit draw",
    "audit export",
    "audit label",
    "audit next",
    "audit report",
    "blame report",
    "board",
    "budget",
    "cancel",
    "compare",
    "data captions",
    "data get",
    "data list",
    "data openagi",
    "dataset build",
    "dataset diff",
    "dataset list",
    "data export-toolbench",
    "dataset export-compat",
    "dataset show",
    "dataset unify",
    "db backup",
    "db upgrade",
    "doctor",
    "endpoints",
    "episodes",
    "job",
    "jobs",
    "label",
    "models get",
    "models list",
    "models rm",
    "models show",
    "pause",
    "plugins",
    "rate",
    "report",
    "resume",
    "rm",
    "rollouts report",
    "score",
    "serve experts",
    "serve model",
    "serve tools",
    "show",
    "tag",
    "up",
    "watch",
    "worker",
    "workers",
    "web",
    "web add-person",
}


def test_every_command_that_submits_a_job_takes_a_name_and_tags():
    submitting = {name: one for name, one in all_commands().items() if name not in STORES_NO_JOB}
    assert {"evaluate", "convert", "train sft", "train sweep", "rollouts", "blame", "judge"} <= set(submitting)
    without = [
        name
        for name, one in submitting.items()
        if not {"--name", "--tag"} <= {option for parameter in one.params for option in parameter.opts}
    ]
    assert not without, "these commands neither take --name and --tag, nor are they named as storing no job"


CONVERT = ("convert", "wordmath", "--deterministic", "--split", "dev", "--limit", "2", "--json")


def jobs(lumos, *arguments: str) -> list[dict]:
    return lumos("jobs", "--json", *arguments).json["jobs"]


def test_a_job_has_the_name_and_tags_it_was_given_and_is_found_by_them(lumos):
    assert lumos(*CONVERT, "--name", "first try", "--tag", "team=maths", "--tag", "run=1").code == 0
    assert lumos(*CONVERT, "--again", "--name", "Second", "--tag", "team=qa").code == 0
    assert [(job["name"], job["tags"]) for job in jobs(lumos)] == [
        ("Second", {"team": "qa"}),
        ("first try", {"run": "1", "team": "maths"}),
    ]
    for arguments, names in (
        (("--where", "tag.team=maths"), ["first try"]),
        (("--where", 'tag.team~""'), ["Second", "first try"]),
        (("--where", 'tag.team=qa tag.run~""'), []),
        (("--where", "tag.run!=1"), ["Second"]),
        (("--where", "name~SECOND"), ["Second"]),
        (("--where", 'name="first try" kind=convert'), ["first try"]),
        (("--where", "name~_"), []),
        (("--where", "name~%"), []),
        (("--where", 'model~"BY RULE" benchmark=wordmath state=done'), ["Second", "first try"]),
        (("--where", "state=nobody"), []),
        (("--where", "state!=done"), []),
        (("--limit", "1"), ["Second"]),
        (("--before", jobs(lumos)[0]["job"]), ["first try"]),
    ):
        assert [job["name"] for job in jobs(lumos, *arguments)] == names, arguments
    episodes = lumos("episodes", "--where", 'tag.team=maths name="first try"', "--json").json["episodes"]
    assert len(episodes) == 2 and episodes == lumos("episodes", "--where", "name~FIRST", "--json").json["episodes"]
    assert lumos("jobs", "--limit", "1", "--where", "kind=convert").err.startswith(
        "older jobs: lumos jobs --where kind=convert --before "
    )


@pytest.mark.parametrize(
    ("command", "where", "message"),
    [
        (
            "jobs",
            "benchmark=wordmoth",
            "No benchmark called 'wordmoth'. Did you mean 'wordmath'? Choose one of: aokvqa,",
        ),
        ("jobs", "benchmark!=wordmoth", "No benchmark called 'wordmoth'."),
        ("jobs", "formulation=iteratve", "No formulation called 'iteratve'. Did you mean 'iterative'? Choose one of:"),
        ("jobs", "tag.taem=maths", "No tag called 'taem'. Did you mean 'team'? Choose one of: team."),
        ("jobs", "tag=maths", "Write a tag with its key, as in tag.team=maths."),
        (
            "jobs",
            "name.team=maths",
            "Only the fields tag and meta have a key after a dot. Write it as in tag.team=maths.",
        ),
        ("jobs", "state=runing", "No state called 'runing'. Did you mean 'running'? Choose one of: cancelled,"),
        ("jobs", "kind=evalute", "No kind called 'evalute'. Did you mean 'evaluate'? Choose one of: convert,"),
        ("jobs", "benchmrk=wordmath", "No field called 'benchmrk'. Did you mean 'benchmark'? Choose one of:"),
        ("jobs", "score=1", "The field 'score' selects episodes, not jobs. Choose one of: benchmark,"),
        ("watch", "state=runing", "No state called 'runing'. Did you mean 'running'?"),
        ("report", "state=runing", "No state called 'runing'. Did you mean 'running'?"),
        ("report", "name=nobody", "No job matches name=nobody. List them with: lumos jobs"),
        ("episodes", "state=running", "The field 'state' selects jobs, not episodes. Choose one of: action,"),
        ("episodes", "benchmark=wordmoth", "No benchmark called 'wordmoth'. Did you mean 'wordmath'?"),
        ("episodes", "metric:executd=1", "No metric called 'executd'. Did you mean 'executed'?"),
        ("episodes", "origin=convertd", "No origin called 'convertd'. Did you mean 'converted'?"),
        ("episodes", "ending=answerd", "No ending called 'answerd'. Did you mean 'answered'?"),
        ("audit draw x", "benchmark=wordmoth", "No benchmark called 'wordmoth'. Did you mean 'wordmath'?"),
        ("dataset build x", "benchmark=wordmoth", "No benchmark called 'wordmoth'. Did you mean 'wordmath'?"),
        ("rollouts --agent starter", "benchmark=wordmoth", "No benchmark called 'wordmoth'. Did you mean 'wordmath'?"),
    ],
)
def test_an_unknown_name_in_a_filter_is_one_line_with_the_nearest(lumos, command, where, message):
    assert lumos(*CONVERT, "--tag", "team=maths").code == 0
    refused = lumos(*command.split(), "--where", where)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert refused.err.startswith(f"lumos: {message}")


def test_a_benchmark_that_only_a_stored_job_knows_can_be_asked_for(lumos, tmp_path):
    import sqlite3

    assert lumos(*CONVERT).code == 0
    with sqlite3.connect(tmp_path / "home" / "lumos.db") as connection:
        connection.execute("UPDATE job SET benchmark = 'mylab.travelplanner'")
    assert len(jobs(lumos, "--where", "benchmark=mylab.travelplanner")) == 1


def test_reports_are_of_named_jobs_or_of_those_that_fit(lumos):
    first, second = (lumos(*CONVERT, "--again", "--tag", f"run={number}").json["job"] for number in (1, 2))
    reports = lumos("report", "--where", 'tag.run~""', "--json").json["reports"]
    assert [report["job"] for report in reports] == [first, second]
    assert lumos("report", "--where", "tag.run=2", "--json").json["job"] == second
    assert [job["job"] for job in lumos("watch", "--where", "tag.run=2", "--json").json["jobs"]] == [second]
    assert "not both" in lumos("report", first, "--where", "tag.run=2").err
    assert "No job is chosen" in lumos("report").err


def test_the_same_request_under_another_name_is_the_job_that_was_made_before(lumos):
    before = lumos(*CONVERT, "--name", "first").json["job"]
    again = lumos(*CONVERT, "--name", "it's other", "--tag", "a=b")
    assert again.json["job"] == before and "keeps its name and tags" in again.err
    assert f"lumos tag {before} --name 'it'\"'\"'s other' a=b" in again.err
    assert "keeps its name" not in lumos(*CONVERT, "--name", "first").err
    assert "keeps its name" not in lumos(*CONVERT).err
    assert [(job["name"], job["tags"]) for job in jobs(lumos)] == [("first", {})]


def test_what_a_job_is_called_can_be_changed(lumos):
    job = lumos(*CONVERT, "--name", "a", "--tag", "x=1", "--tag", "y=2").json["job"]
    changed = lumos("tag", job[:5], "x=3", "z=", "--remove", "y", "--name", "b", "--json").json
    assert changed == {"job": job, "name": "b", "tags": {"x": "3", "z": ""}}
    assert lumos("tag", job, "--name", "", "--json").json["name"] == ""
    refused = lumos("tag", job, "--remove", "nope")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "It has: x, z" in refused.err
    description = lumos("job", job, "--json").json
    assert (description["name"], description["tags"], description["real_state"]) == ("", {"x": "3", "z": ""}, "done")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("  two \n lines\tand\r more ", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "�[31mred�[0m"),
        ("nul\x00 and half \ud800", "nul� and half �"),
        ("right-to-left ‮ mark", "right-to-left � mark"),
        ("\"quotes\" 'and' `ticks` $(rm) %s {} [bold]", "\"quotes\" 'and' `ticks` $(rm) %s {} [bold]"),
        ("三个样本", "三个样本"),
        ("x" * MAX_NAME, "x" * MAX_NAME),
        ("", ""),
    ],
)
def test_a_name_is_one_line_that_can_be_stored_and_shown(text, name):
    assert read_name(text) == name


@pytest.mark.parametrize(
    ("name", "tags", "message"),
    [
        ("x" * 10_240, [], "10,240 characters: give at most 200"),
        ("", ["novalue"], "'novalue' is not a tag"),
        ("", ["=x"], "not a tag"),
        ("", ["a b=x"], "not a tag"),
        ("", [f"{'k' * 65}=x"], "not a tag"),
        ("", ["\x1b[2J=x"], "'�[2J=x' is not a tag"),
        ("", ["a=1", "a=2"], "given twice"),
        ("", ["a=" + "v" * 201], "The value of the tag 'a' has 201"),
        ("", [f"k{number}=1" for number in range(51)], "at most 50"),
    ],
)
def test_what_cannot_be_a_name_or_a_tag_is_refused_in_one_line(name, tags, message):
    with pytest.raises(SpecError, match=message.replace("[", r"\[")) as error:
        read_name_and_tags(name, tags)
    assert "\n" not in str(error.value) and str(error.value).isprintable()


def test_a_value_may_have_equals_signs():
    assert read_tags(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


def test_a_name_is_refused_before_anything_is_stored(lumos, tmp_path):
    refused = lumos(*CONVERT[:-1], "--name", "x" * 10_240)
    assert refused.code == 2 and len(refused.err.splitlines()) == 1
    assert not (tmp_path / "home").exists()


def test_the_version_is_told_and_every_command_answers_h(lumos):
    assert lumos("--version").out.startswith("lumos-queue 0.")
    assert lumos("--version", "--json").json["version"].startswith("0.")
    for arguments in (("-h",), ("jobs", "-h"), ("train", "sft", "-h"), ("rollouts", "report", "-h"), ("db", "-h")):
        assert lumos(*arguments).out.startswith("Usage: lumos")
