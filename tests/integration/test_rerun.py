"""`lumos rerun`: a stored request made again, with what options change, and on chosen tasks. No file is read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select, update

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import EpisodeRow, Item, JobRow, TaskRow
from db.queries.jobs import get_job
from db.queue.job_changes import remove
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.jobs.scheduling import DEFAULT_SCHEDULING
from lumos_queue.settings import read_settings
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.rerun import make_rerun
from tests import scripted_models
from tests.command_line import CommandLine
from tests.fake_endpoint import FakeEndpoint
from tests.integration.command_outputs import run as printed
from tests.integration.test_job_specs import CASES, environment, stored_job

BOTH = pytest.mark.parametrize("home", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def home(request, lumos: CommandLine) -> Iterator[Database]:
    """The database of the command line, SQLite unless a test asks for another. There is no broker."""
    if getattr(request, "param", "sqlite") == "postgresql":
        lumos.set(LUMOS_DATABASE_URL=request.getfixturevalue("postgres_url"))
    settings = read_settings()
    settings.home.mkdir()
    database = open_database(settings.database)
    upgrade(database)
    yield database
    database.close()


@pytest.fixture
def server():
    with FakeEndpoint(scripted_models.step_by_step) as endpoint:
        yield endpoint


def evaluate(server, *options: str) -> list[str]:
    return ["evaluate", "wordmath", "--planner", server.tgi, "--grounder", server.tgi, *options]


def run(lumos: CommandLine, *arguments: str) -> dict:
    return lumos(*arguments, "--json").json


def problem(lumos: CommandLine, *arguments: str) -> str:
    result = lumos(*arguments)
    assert result.code == 2
    (line,) = result.err.strip().splitlines()
    return line


def row_of(database, job: str):
    with database.engine.connect() as connection:
        return get_job(connection, job)


def items_of(database, job: str) -> list[tuple[int, str, int]]:
    """(ordinal, row of the task, sample)."""
    wanted = select(Item.ordinal, TaskRow.row, Item.sample).join(TaskRow, TaskRow.id == Item.task)
    with database.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(wanted.where(Item.job == job).order_by(Item.ordinal))]


def jobs(database) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(JobRow)).scalar_one()


@pytest.mark.parametrize("name", [name for name, said in CASES.items() if said.startswith(("evaluate", "infer"))])
def test_every_kind_of_request_is_made_again_as_it_is_stored(name, tmp_path, monkeypatch):
    """In a deployment in which nobody works. The files are gone: nothing but the database is read."""
    folder = tmp_path.resolve()
    for variable, value in environment(folder).items():
        monkeypatch.setenv(variable, value)
    stored_job(CASES[name], folder)
    first = json.loads(printed("jobs", "--json").splitlines()[1])["jobs"][0]["job"]
    for path in folder.glob("*.json*"):
        path.unlink()
    said = printed("rerun", first, "--json")
    assert said.startswith("exit code 0"), said
    second = next(json.loads(line)["job"] for line in said.splitlines() if line.startswith("{"))
    before, after = (json.loads(printed("job", one, "--json").splitlines()[1]) for one in (first, second))
    assert (second != first, after["parent"]) == (True, first)
    for name in ("kind", "split", "formulation", "dataset", "agent", "seed", "items", "digest"):
        assert after[name] == before[name], name
    assert json.dumps(after["spec"]) == json.dumps(before["spec"])


def test_without_a_change_it_is_run_again_and_with_one_it_is_found_again(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "3"))
    same = run(lumos, "rerun", first["job"])
    assert same["job"] != first["job"] and same["parent"] == first["job"]
    assert row_of(home, same["job"]).digest == row_of(home, first["job"]).digest
    sampled = run(lumos, "rerun", first["job"], "--temperature", "0.9", "--seed", "4")
    spec = row_of(home, sampled["job"]).spec["infer"]
    assert (spec["seed"], spec["agent"]["sampling"]["temperature"], spec["limit"]) == (4, 0.9, 3)
    assert run(lumos, "rerun", first["job"], "--temperature", "0.9", "--seed", "4")["job"] == sampled["job"]
    wanted = evaluate(server, "--limit", "3", "--temperature", "0.9", "--seed", "4")
    assert run(lumos, *wanted)["job"] == sampled["job"]
    assert jobs(home) == 3


def test_other_endpoints_and_formulations_are_checked_as_an_evaluation_checks_them(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "2", "--setting", "calls=30"))
    with FakeEndpoint(scripted_models.all_at_once) as other:
        planned = run(lumos, "rerun", first["job"], "--formulation", "one-pass", "--planner", other.openai)
        spec = row_of(home, planned["job"]).spec["infer"]
        assert spec["formulation"] == "one-pass" and other.count > 0
        assert spec["agent"]["roles"] == {"planner": other.openai, "grounder": server.tgi}
        assert spec["agent"]["limits"] == {"calls": 30}
        run(lumos, "rerun", first["job"], "--formulation", "cot", "--solver", server.tgi)
    for options, expected in (
        (("--formulation", "cot"), "No endpoint for the role solver"),
        (("--formulation", "nothing"), "No formulation called 'nothing'"),
        (("--planner", "ftp://x"), "ftp"),
        (("--solver", server.tgi), "has no role solver"),
        (("--role", "qa=tgi://x:1"), "role that --role can set here"),
        (("--tool", "corpus=x"), "has no tool options"),
        (("--setting", "steps=3"), "setting"),
        (("--planner", "tgi://127.0.0.1:9"), "Cannot use the endpoint"),
        (("--temperature", "nan"), "--temperature"),
    ):
        assert expected in problem(lumos, "rerun", first["job"], *options), options
    assert jobs(home) == 3


@BOTH
def test_chosen_tasks_are_those_of_fitting_episodes_with_all_their_samples(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "6", "--samples", "2", "--temperature", "0.5"))
    with home.engine.connect() as connection:
        wanted = select(TaskRow.row).join(EpisodeRow, EpisodeRow.task == TaskRow.id)
        few = wanted.where(EpisodeRow.job == first["job"], EpisodeRow.calls <= 3).order_by(TaskRow.ordinal)
        rows = list(dict.fromkeys(connection.execute(few).scalars()))
    assert 0 < len(rows) < 6
    chosen = run(lumos, "rerun", first["job"], "--where", "calls<=3")
    every = [(place, row, 0) for place, row in enumerate(rows)]
    every += [(place + len(rows), row, 1) for place, row in enumerate(rows)]
    assert items_of(home, chosen["job"]) == every
    assert (chosen["n"], chosen["finished"]) == (2 * len(rows), 2 * len(rows))
    found = row_of(home, chosen["job"])
    assert (found.parent, found.chosen) == (first["job"], "calls<=3")
    assert found.digest != row_of(home, first["job"]).digest
    # The same tasks chosen again are the same job; others, and the plain request, are not.
    assert run(lumos, "rerun", first["job"], "--where", "calls <= 3 calls<4")["job"] == chosen["job"]
    assert run(lumos, "rerun", first["job"], "--where", "calls<=3", "--seed", "3")["job"] != chosen["job"]
    assert run(lumos, "rerun", first["job"], "--where", "calls>3")["job"] != chosen["job"]
    plain = evaluate(server, "--limit", "6", "--samples", "2", "--temperature", "0.5")
    assert run(lumos, *plain)["job"] == first["job"]


def test_a_choice_by_outcome_says_that_its_mean_is_no_accuracy(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "4"))
    said = lumos("rerun", first["job"], "--where", "calls>0")
    assert said.code == 0
    warning = "its mean is not an accuracy on wordmath"
    assert warning in said.err and warning in " ".join(said.out.split())
    report = run(lumos, "rerun", first["job"], "--where", "calls>0")
    assert report["chosen"] == {"where": "calls>0", "by_outcome": True}
    assert warning in " ".join(lumos("job", report["job"]).out.split())
    # One that says nothing of what the models did.
    said = lumos("rerun", first["job"], "--where", "sample=0")
    assert said.code == 0
    assert "not an accuracy" not in said.err + said.out
    plain = run(lumos, "rerun", first["job"], "--where", "sample=0")
    assert plain["chosen"] == {"where": "sample=0", "by_outcome": False} and plain["job"] != report["job"]
    assert "chosen" not in run(lumos, "report", first["job"])


def test_the_papers_tables_leave_chosen_tasks_out(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "4"))
    chosen = run(lumos, "rerun", first["job"], "--where", "calls>0")
    from db.queries.jobs import jobs_of_kind
    from lumos_queue.papers.stored_evaluations import load_stored_evaluations

    with home.engine.connect() as connection:
        found = [one.job.id for one in load_stored_evaluations(jobs_of_kind(connection, "evaluate"), [])]
    assert found == [first["job"]] and chosen["job"] not in found


def test_bad_input_is_one_line_and_stores_nothing(home, server, lumos):
    job = run(lumos, *evaluate(server, "--limit", "2"))["job"]
    for arguments, expected in (
        (["nobody"], "No job has an id that starts with 'nobody'"),
        ([job, "--where", "score=9"], "No finished episode of job"),
        ([job, "--where", "scores=1"], "No field called 'scores'"),
        ([job, "--where", "score=="], "score"),
        ([job, "--where", "score=1; DROP TABLE job"], "expected a number"),
        ([job, "--where", " "], "--where is empty"),
        ([job, "--where", "score=1", "--limit", "2"], "give only one of them"),
        ([job, "--seed", "-1"], "--seed"),
    ):
        assert expected in problem(lumos, "rerun", *arguments), arguments
        assert jobs(home) == 1, arguments


def test_jobs_that_are_no_runs_are_refused_with_what_to_do(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "1"))
    with home.writer.begin() as connection:
        connection.execute(update(JobRow).values(origin="imported"))
    for name in ("rerun", "extend"):
        options = ["--limit", "2"] if name == "extend" else []
        assert "are imported" in problem(lumos, name, first["job"], *options)
    with home.writer.begin() as connection:
        connection.execute(update(JobRow).values(origin="run", kind="train"))
    assert "lumos train" in problem(lumos, "rerun", first["job"])


def test_a_filter_that_says_nothing_of_outcomes_wants_a_whole_job(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "2"))
    with home.writer.begin() as connection:
        connection.execute(update(JobRow).values(items=5, state="cancelled"))
    assert "has finished 2 of its 5 items" in problem(lumos, "rerun", first["job"], "--where", "sample=0")
    assert run(lumos, "rerun", first["job"], "--where", "calls>0")["n"] == 2


@BOTH
def test_a_request_whose_rows_are_gone_says_so(home, server, lumos):
    first = run(lumos, *evaluate(server, "--limit", "2"))
    row = row_of(home, first["job"])
    with Deployment(read_settings()) as deployment:
        repeat = make_rerun(deployment, row, InferenceRequest(), (), "", DEFAULT_SCHEDULING, print)
    remove(home, first["job"])
    with pytest.raises(SpecError, match="was removed meanwhile"):
        repeat.create(home, True)
    assert jobs(home) == 0
