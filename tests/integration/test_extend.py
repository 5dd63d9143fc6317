"""`lumos extend`: what a job has finished is adopted, none of its calls is made again, the rows are as of one run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from db.models import STEPS, Attempt, EpisodeArtifact, EpisodeRow, Item, JobRow, ScoreRow, VersionSum
from db.queries.jobs import get_job
from db.queue.figures import progress, totals
from db.queue.job_changes import cancel, pause
from db.queue.recount import differences
from db.transfer.adopt import find_adopted
from tests import scripted_models
from tests.fake_endpoint import FakeEndpoint
from tests.integration.databases import sqlite_only
from tests.stored_rows import read_stored_rows

ROOT = Path(__file__).resolve().parents[2]
SAMPLED = ("--temperature", "0.7", "--seed", "5")


@pytest.fixture
def home(lumos, database):
    """The command line works on the database of the test, with neither broker nor network."""
    lumos.set(LUMOS_DATABASE_URL=database.url)
    return database


def reply(prompt: str) -> str:
    """The scripted model without equations, whose solver is another process."""
    said = scripted_models.step_by_step(prompt)
    return said.replace("SetEquation(2 * x + 3 = ", "Calculator(").replace("SolveEquation(", "Calculator(")


@pytest.fixture
def server():
    with FakeEndpoint(reply) as endpoint:
        yield endpoint


def evaluate(server, *options: str) -> list[str]:
    return ["evaluate", "wordmath", "--planner", server.tgi, "--grounder", server.tgi, *SAMPLED, *options]


def problem(result) -> str:
    """The line of a command that cannot be carried out."""
    lines = result.err.strip().splitlines()
    assert (result.code, len(lines)) == (2, 1), lines
    return lines[0]


def recounted(database, job: str) -> None:
    with database.engine.connect() as connection:
        assert differences(connection, job) == []


def count(database, table, *which) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table).where(*which)).scalar_one()


@pytest.mark.parametrize(
    "limit, samples, asked",
    [(5, 2, 7), *(pytest.param(*one, marks=pytest.mark.long) for one in ((7, 1, 4), (3, 2, 3), (2, 1, 0)))],
)
def test_an_extended_job_has_the_rows_of_one_run_and_asks_only_for_what_is_new(
    home, server, lumos, limit, samples, asked
):
    """`asked`: episodes that the first job (3 rows, a sample each) had not."""
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    before = server.count
    report = lumos("extend", first["job"], "--limit", limit, "--samples", samples, "--json").json
    spared = server.count - before
    adopted = limit * samples - asked
    assert (report["n"], report["finished"]) == (limit * samples, limit * samples)
    assert (report["parent"], report["adopted"]["episodes"], report["adopted"]["of"]) == (
        first["job"],
        adopted,
        limit * samples,
    )
    assert report["calls"] == spared == (0 if not asked else spared) and (spared > 0) == (asked > 0)
    if limit >= 3:
        assert report["adopted"]["calls"] == first["calls"]
        assert report["adopted"]["tokens"] == first["tokens"]
    # The same request is this job; run again from nothing it has the same rows.
    wanted = evaluate(server, "--limit", str(limit), "--samples", str(samples))
    assert lumos(*wanted, "--json").json["job"] == report["job"]
    whole = lumos(*wanted, "--again", "--json").json
    assert read_stored_rows(home, report["job"]) == read_stored_rows(home, whole["job"])
    assert report["metrics"] == whole["metrics"] and report["endings"] == whole["endings"]
    assert report["calls"] + report["adopted"]["calls"] == whole["calls"]
    for job in (first["job"], report["job"], whole["job"]):
        recounted(home, job)


@sqlite_only
def test_the_seed_of_a_sample_does_not_depend_on_how_many_there_are(home, lumos):
    with FakeEndpoint(reply, keep_bodies=True) as server:
        first = lumos(*evaluate(server, "--limit", "2"), "--json").json
        seeds = {str(body) for body in server.bodies}
        server.bodies.clear()
        lumos(*evaluate(server, "--limit", "4", "--samples", "2"), "--json")
        assert len(seeds) == first["calls"] and seeds <= {str(body) for body in server.bodies}


@sqlite_only
def test_a_job_that_is_half_done_gives_what_it_has_finished(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "4"), "--json").json
    with home.writer.begin() as connection:  # two of the four were never begun
        late = select(Item.id).where(Item.job == first["job"], Item.ordinal >= 2)
        connection.execute(EpisodeRow.__table__.delete().where(EpisodeRow.id.in_(late)))
        connection.execute(update(Item).where(Item.id.in_(late)).values(state="owed", claim=0))
    report = lumos("extend", first["job"], "--limit", "5", "--json").json
    assert (report["adopted"]["episodes"], report["finished"]) == (2, 5)
    recounted(home, report["job"])


@sqlite_only
def test_what_infrastructure_ended_is_not_adopted(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    with home.writer.begin() as connection:
        one = select(Item.id).where(Item.job == first["job"], Item.ordinal == 1)
        connection.execute(update(EpisodeRow).where(EpisodeRow.id.in_(one)).values(ending="infra_error", message="x"))
    report = lumos("extend", first["job"], "--limit", "4", "--json").json
    assert (report["adopted"]["episodes"], report["endings"].get("infra_error")) == (2, None)


@sqlite_only
@pytest.mark.parametrize("kind", ["evaluate", "infer"])
def test_scores_that_were_added_are_adopted_with_what_gave_them(home, server, lumos, kind):
    first = lumos(kind, *evaluate(server, "--limit", "3")[1:], "--json").json
    assert lumos("score", first["job"], "--scorer", "same_words", "--json").json["episodes"] == 3
    report = lumos("extend", first["job"], "--limit", "5", "--json").json
    assert {one["metric"] for one in report["scorings"]} == {"same_words", "word_f1"}
    assert lumos("score", report["job"], "--scorer", "same_words", "--json").json["episodes"] == 2
    found = lumos("report", report["job"], "--json").json
    assert found["metrics"]["same_words"]["of"] == 5
    assert found["metric"] == ("accuracy" if kind == "evaluate" else "same_words")
    recounted(home, report["job"])


def test_adopted_episodes_are_whole_and_the_parent_may_go(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    steps = {table: count(home, table) for table in (*STEPS.values(), Attempt, ScoreRow, EpisodeArtifact)}
    report = lumos("extend", first["job"], "--limit", "2", "--json").json
    assert report["adopted"]["calls"] > 0 == report["calls"]
    before = read_stored_rows(home, report["job"])
    assert lumos("rm", first["job"], "--yes").code == 0
    assert read_stored_rows(home, report["job"]) == before
    assert all(count(home, table) <= steps[table] for table in steps)
    recounted(home, report["job"])
    again = lumos("extend", report["job"], "--limit", "3", "--json").json
    assert (again["adopted"]["episodes"], again["adopted"]["from"]) == (2, report["job"])


@sqlite_only
def test_a_job_of_other_code_says_so_and_offers_to_run_it_again(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    with home.writer.begin() as connection:
        mine = select(Item.id).where(Item.job == first["job"])
        connection.execute(update(Attempt).where(Attempt.episode.in_(mine)).values(code_version="0.0.9+12345678"))
        connection.execute(update(VersionSum).where(VersionSum.role == "").values(value="0.0.9+12345678"))
    said = problem(lumos("extend", first["job"], "--limit", "5"))
    assert (
        "3 finished episodes is 0.0.9+12345678" in said and f"lumos rerun {first['job']} --limit 5 --samples 1" in said
    )
    assert count(home, JobRow) == 1
    with home.writer.begin() as connection:  # of some episodes only: the others are adopted
        one = select(Item.id).where(Item.job == first["job"], Item.ordinal == 0)
        connection.execute(update(Attempt).where(Attempt.episode.in_(one)).values(code_version=first["code_version"]))
    assert lumos("extend", first["job"], "--limit", "4", "--json").json["adopted"]["episodes"] == 1


@sqlite_only
def test_another_model_at_the_same_address_is_not_taken_for_the_same(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "2"), "--json").json
    server.model = "another"
    said = problem(lumos("extend", first["job"], "--limit", "3"))
    assert "was fake, " in said and "is another, " in said and "lumos rerun" in said
    # Where nothing is left to ask, nobody asks who they are.
    assert lumos("extend", first["job"], "--limit", "1", "--json").json["adopted"]["episodes"] == 1


@sqlite_only
def test_an_evaluation_names_the_command_that_would_spare_its_calls(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "2"), "--json").json
    said = lumos(*evaluate(server, "--limit", "3", "--samples", "2")).err
    assert f"lumos extend {first['job']} --limit 3 --samples 2" in said and "2 episodes" in said
    other = lumos(*evaluate(server, "--limit", "3", "--seed", "6"))
    assert other.code == 0 and "lumos extend" not in other.err
    again = lumos(*evaluate(server, "--limit", "3", "--samples", "2"))
    assert again.code == 0 and "lumos extend" not in again.err  # it is there already


#: Arguments of `lumos extend`, and what the error says.
REFUSED = [
    (["nobody", "--limit", "3"], "No job has an id that starts with 'nobody'"),
    (["JOB"], "give --limit N, --samples K, or both"),
    (["JOB", "--limit", "-1"], "--limit"),
    (["JOB", "--samples", "0"], "--samples"),
    (["JOB", "--limit", "many"], "--limit"),
    (["JOB", "--limit", "99999999999"], "--limit"),
]


@sqlite_only
def test_bad_input_is_one_line_and_stores_nothing(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "1"), "--json").json
    for arguments, expected in REFUSED:
        said = problem(lumos("extend", *(first["job"] if word == "JOB" else word for word in arguments)))
        assert expected in said, (arguments, said)
    assert count(home, JobRow) == 1


@sqlite_only
def test_limit_0_is_all_rows(home, lumos):
    """A few rows, so that all of them are soon done."""
    with FakeEndpoint(reply) as server:
        first = lumos(*evaluate(server, "--draw", "3", "--sets", "2"), "--json").json
        said = problem(lumos("extend", first["job"], "--limit", "0"))
        assert "draws sample sets" in said
        report = lumos("extend", first["job"], "--samples", "2", "--json").json
        assert (report["n"], report["adopted"]["episodes"]) == (2 * first["n"], first["n"])


def test_chosen_tasks_have_no_first_ones(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    chosen = lumos("rerun", first["job"], "--where", "calls>0", "--json").json
    assert "cannot be extended: it ran only tasks of job" in problem(lumos("extend", chosen["job"], "--limit", "2"))


EXTEND = """
import sys, time
import db.transfer.adopt, db.transfer.repeats
db.transfer.adopt.MANY = 4
import lumos_queue.submission.extend as extend
extend.MANY = 4
first = db.transfer.repeats.Chunks.touch
def touch(self, connection, job, *rest):
    self.rows = 4
    first(self, connection, job, *rest)
    print("chunk", flush=True)
    time.sleep(0.05)
db.transfer.repeats.Chunks.touch = touch
from lumos_queue.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "chunks", [pytest.param(1, marks=pytest.mark.long), 2, pytest.param(4, marks=pytest.mark.long)]
)
def test_a_kill_during_the_copy_leaves_nothing_and_the_next_extend_is_whole(home, server, lumos, chunks):
    first = lumos(*evaluate(server, "--limit", "18"), "--json").json
    rows = {table: count(home, table) for table in (EpisodeRow, Attempt, *STEPS.values(), ScoreRow)}
    process = subprocess.Popen(
        [sys.executable, "-c", EXTEND, "extend", first["job"], "--limit", "24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout
    for _ in range(chunks):
        assert process.stdout.readline() == "chunk\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    hidden = JobRow.state == "submitting"
    assert count(home, JobRow, hidden) == 1
    assert [job["job"] for job in lumos("jobs", "--json").json["jobs"]] == [first["job"]]
    with home.writer.begin() as connection:  # as if it had been silent for long
        connection.execute(update(JobRow).where(hidden).values(not_before_at=0.0))
    before = server.count
    report = lumos("extend", first["job"], "--limit", "19", "--json").json
    assert (report["adopted"]["episodes"], report["calls"]) == (18, server.count - before)
    assert count(home, JobRow) == 2
    for table, found in rows.items():
        assert count(home, table) >= found
    assert count(home, EpisodeRow) == 18 + 19
    for job in (first["job"], report["job"]):
        recounted(home, job)


def test_a_job_is_extended_while_it_runs_or_is_stopped(home, server, lumos):
    first = lumos(*evaluate(server, "--limit", "3"), "--json").json
    with home.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == first["job"]).values(state="running"))
    pause(home, first["job"])
    cancel(home, first["job"])
    report = lumos("extend", first["job"], "--limit", "4", "--json").json
    with home.engine.connect() as connection:
        assert find_adopted(connection, report["job"]).episodes == 3
        assert progress(connection, report["job"]) == {"done": 4}
        assert totals(connection, report["job"]).finished == 4
        assert get_job(connection, report["job"]).state == "done"
