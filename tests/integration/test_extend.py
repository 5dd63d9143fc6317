"""`lumos extend`: what a job has finished is adopted, none of its calls is made again, the rows are as of one run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from db.adopt import find_adopted
from db.figures import progress, totals
from db.jobs import cancel, get_job, pause
from db.models import STEPS, Attempt, EpisodeArtifact, EpisodeRow, Item, JobRow, ScoreRow, VersionSum
from db.recount import differences
from lumos_queue.cli.main import app, main
from tests import scripted_models
from tests.fake_endpoint import FakeEndpoint
from tests.integration.going_on import command
from tests.stored import stored_rows

ROOT = Path(__file__).resolve().parents[2]
SAMPLED = ("--temperature", "0.7", "--seed", "5")


@pytest.fixture
def home(tmp_path, monkeypatch, database):
    """The command line works on the database of the test, with neither broker nor network."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url)
    return database


@pytest.fixture
def server():
    with FakeEndpoint(scripted_models.step_by_step) as one:
        yield one


def evaluate(server, *options: str) -> list[str]:
    return ["evaluate", "wordmath", "--planner", server.tgi, "--grounder", server.tgi, *SAMPLED, *options]


def run(capsys, *arguments: str) -> tuple[int, dict]:
    return command(app, capsys, *arguments)


def problem(capsys, *arguments: str) -> str:
    """The line of a command that cannot be carried out."""
    capsys.readouterr()
    assert main([*map(str, arguments)]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1, said
    return said[0]


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
    home, server, capsys, limit, samples, asked
):
    """`asked`: episodes that the first job (3 rows, a sample each) had not."""
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    before = server.count
    code, report = run(capsys, "extend", first["job"], "--limit", limit, "--samples", samples)
    spared = server.count - before
    adopted = limit * samples - asked
    assert (code, report["n"], report["finished"]) == (0, limit * samples, limit * samples)
    assert (report["parent"], report["adopted"]["episodes"], report["adopted"]["of"]) == (
        first["job"], adopted, limit * samples,
    )  # fmt: skip
    assert report["calls"] == spared == (0 if not asked else spared) and (spared > 0) == (asked > 0)
    if limit >= 3:
        assert report["adopted"]["calls"] == first["calls"]
        assert report["adopted"]["tokens"] == first["tokens"]
    # The same request is this job; run again from nothing it has the same rows.
    wanted = evaluate(server, "--limit", str(limit), "--samples", str(samples))
    assert run(capsys, *wanted)[1]["job"] == report["job"]
    _, whole = run(capsys, *wanted, "--again")
    assert stored_rows(home, report["job"]) == stored_rows(home, whole["job"])
    assert report["metrics"] == whole["metrics"] and report["endings"] == whole["endings"]
    assert report["calls"] + report["adopted"]["calls"] == whole["calls"]
    for job in (first["job"], report["job"], whole["job"]):
        recounted(home, job)


def test_the_seed_of_a_sample_does_not_depend_on_how_many_there_are(home, capsys):
    with FakeEndpoint(scripted_models.step_by_step, keep_bodies=True) as server:
        _, first = run(capsys, *evaluate(server, "--limit", "2"))
        seeds = {str(body) for body in server.bodies}
        server.bodies.clear()
        run(capsys, *evaluate(server, "--limit", "4", "--samples", "2"))
        assert len(seeds) == first["calls"] and seeds <= {str(body) for body in server.bodies}


def test_a_job_that_is_half_done_gives_what_it_has_finished(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "4"))
    with home.writer.begin() as connection:  # two of the four were never begun
        late = select(Item.id).where(Item.job == first["job"], Item.ordinal >= 2)
        connection.execute(EpisodeRow.__table__.delete().where(EpisodeRow.id.in_(late)))
        connection.execute(update(Item).where(Item.id.in_(late)).values(state="owed", claim=0))
    code, report = run(capsys, "extend", first["job"], "--limit", "5")
    assert (code, report["adopted"]["episodes"], report["finished"]) == (0, 2, 5)
    recounted(home, report["job"])


def test_what_infrastructure_ended_is_not_adopted(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    with home.writer.begin() as connection:
        one = select(Item.id).where(Item.job == first["job"], Item.ordinal == 1)
        connection.execute(update(EpisodeRow).where(EpisodeRow.id.in_(one)).values(ending="infra_error", message="x"))
    _, report = run(capsys, "extend", first["job"], "--limit", "4")
    assert (report["adopted"]["episodes"], report["endings"].get("infra_error")) == (2, None)


@pytest.mark.parametrize("kind", ["evaluate", "infer"])
def test_scores_that_were_added_are_adopted_with_what_gave_them(home, server, capsys, kind):
    _, first = run(capsys, kind, *evaluate(server, "--limit", "3")[1:])
    assert run(capsys, "score", first["job"], "--scorer", "same_words")[1]["episodes"] == 3
    _, report = run(capsys, "extend", first["job"], "--limit", "5")
    assert {one["metric"] for one in report["scorings"]} == {"same_words", "word_f1"}
    assert run(capsys, "score", report["job"], "--scorer", "same_words")[1]["episodes"] == 2
    found = run(capsys, "report", report["job"])[1]
    assert found["metrics"]["same_words"]["of"] == 5
    assert found["metric"] == ("accuracy" if kind == "evaluate" else "same_words")
    recounted(home, report["job"])


def test_adopted_episodes_are_whole_and_the_parent_may_go(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    steps = {table: count(home, table) for table in (*STEPS.values(), Attempt, ScoreRow, EpisodeArtifact)}
    _, report = run(capsys, "extend", first["job"], "--limit", "2")
    assert report["adopted"]["calls"] > 0 == report["calls"]
    before = stored_rows(home, report["job"])
    assert main(["rm", first["job"], *(["--yes"] if "--yes" in _help(capsys, "rm") else [])]) == 0
    assert stored_rows(home, report["job"]) == before
    assert all(count(home, table) <= steps[table] for table in steps)
    recounted(home, report["job"])
    code, again = run(capsys, "extend", report["job"], "--limit", "3")
    assert (code, again["adopted"]["episodes"], again["adopted"]["from"]) == (0, 2, report["job"])


def _help(capsys, name: str) -> str:
    capsys.readouterr()
    main([name, "--help"])
    return capsys.readouterr().out


def test_a_job_of_other_code_says_so_and_offers_to_run_it_again(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    with home.writer.begin() as connection:
        mine = select(Item.id).where(Item.job == first["job"])
        connection.execute(update(Attempt).where(Attempt.episode.in_(mine)).values(code_version="0.0.9+12345678"))
        connection.execute(update(VersionSum).where(VersionSum.role == "").values(value="0.0.9+12345678"))
    said = problem(capsys, "extend", first["job"], "--limit", "5")
    assert (
        "3 finished episodes is 0.0.9+12345678" in said and f"lumos rerun {first['job']} --limit 5 --samples 1" in said
    )
    assert count(home, JobRow) == 1
    with home.writer.begin() as connection:  # of some episodes only: the others are adopted
        one = select(Item.id).where(Item.job == first["job"], Item.ordinal == 0)
        connection.execute(update(Attempt).where(Attempt.episode.in_(one)).values(code_version=first["code_version"]))
    assert run(capsys, "extend", first["job"], "--limit", "4")[1]["adopted"]["episodes"] == 1


def test_another_model_at_the_same_address_is_not_taken_for_the_same(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "2"))
    server.model = "another"
    said = problem(capsys, "extend", first["job"], "--limit", "3")
    assert "was fake, " in said and "is another, " in said and "lumos rerun" in said
    # Where nothing is left to ask, nobody asks who they are.
    assert run(capsys, "extend", first["job"], "--limit", "1")[1]["adopted"]["episodes"] == 1


def test_an_evaluation_names_the_command_that_would_spare_its_calls(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "2"))
    capsys.readouterr()
    assert main(evaluate(server, "--limit", "3", "--samples", "2")) == 0
    said = capsys.readouterr().err
    assert f"lumos extend {first['job']} --limit 3 --samples 2" in said and "2 episodes" in said
    assert main(evaluate(server, "--limit", "3", "--seed", "6")) == 0
    assert "lumos extend" not in capsys.readouterr().err
    assert main(evaluate(server, "--limit", "3", "--samples", "2")) == 0
    assert "lumos extend" not in capsys.readouterr().err  # it is there already


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["nobody", "--limit", "3"], "No job has an id that starts with 'nobody'"),
        (["JOB"], "give --limit N, --samples K, or both"),
        (["JOB", "--limit", "-1"], "--limit"),
        (["JOB", "--samples", "0"], "--samples"),
        (["JOB", "--limit", "many"], "--limit"),
        (["JOB", "--limit", "99999999999"], "--limit"),
    ],
)
def test_bad_input_is_one_line_and_stores_nothing(home, server, capsys, arguments, expected):
    _, first = run(capsys, *evaluate(server, "--limit", "1"))
    said = problem(capsys, "extend", *(first["job"] if one == "JOB" else one for one in arguments))
    assert expected in said
    assert count(home, JobRow) == 1


def test_limit_0_is_all_rows(home, capsys):
    """A few rows, so that all of them are soon done."""
    with FakeEndpoint(scripted_models.step_by_step) as server:
        _, first = run(capsys, *evaluate(server, "--draw", "3", "--sets", "2"))
        said = problem(capsys, "extend", first["job"], "--limit", "0")
        assert "draws sample sets" in said
        _, report = run(capsys, "extend", first["job"], "--samples", "2")
        assert (report["n"], report["adopted"]["episodes"]) == (2 * first["n"], first["n"])


def test_chosen_tasks_have_no_first_ones(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    _, chosen = run(capsys, "rerun", first["job"], "--where", "calls>0")
    assert "ran chosen tasks" in problem(capsys, "extend", chosen["job"], "--limit", "2")


EXTEND = """
import sys, time
import db.adopt, db.repeats
db.adopt.MANY = 4
import lumos_queue.submission.extend as extend
extend.MANY = 4
first = db.repeats.Chunks.touch
def touch(self, connection, job, *rest):
    self.rows = 4
    first(self, connection, job, *rest)
    print("chunk", flush=True)
    time.sleep(0.05)
db.repeats.Chunks.touch = touch
from lumos_queue.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_kill_during_the_copy_leaves_nothing_and_the_next_extend_is_whole(home, server, capsys, tmp_path):
    _, first = run(capsys, *evaluate(server, "--limit", "24"))
    rows = {table: count(home, table) for table in (EpisodeRow, Attempt, *STEPS.values(), ScoreRow)}
    for chunks in (1, 2, 4):
        process = subprocess.Popen(
            [sys.executable, "-c", EXTEND, "extend", first["job"], "--limit", "30"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout
        for _ in range(chunks):
            assert process.stdout.readline() == "chunk\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert count(home, JobRow, JobRow.state == "submitting") >= 1
        with home.engine.connect() as connection:
            found = re.findall(r"\b[a-z0-9]{8}\b", str(run(capsys, "jobs")[1]["jobs"]))
        assert first["job"] in found and len(run(capsys, "jobs")[1]["jobs"]) == 1
        with home.writer.begin() as connection:  # as if it had been silent for long
            hidden = JobRow.state == "submitting"
            connection.execute(update(JobRow).where(hidden).values(not_before_at=0.0))
    before = server.count
    _, report = run(capsys, "extend", first["job"], "--limit", "25")
    assert (report["adopted"]["episodes"], report["calls"]) == (24, server.count - before)
    assert count(home, JobRow) == 2
    for table, found in rows.items():
        assert count(home, table) >= found
    assert count(home, EpisodeRow) == 24 + 25
    for job in (first["job"], report["job"]):
        recounted(home, job)


def test_a_job_is_extended_while_it_runs_or_is_stopped(home, server, capsys):
    _, first = run(capsys, *evaluate(server, "--limit", "3"))
    with home.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == first["job"]).values(state="running"))
    pause(home, first["job"])
    cancel(home, first["job"])
    _, report = run(capsys, "extend", first["job"], "--limit", "4")
    with home.engine.connect() as connection:
        assert find_adopted(connection, report["job"]).episodes == 3
        assert progress(connection, report["job"]) == {"done": 4}
        assert totals(connection, report["job"]).finished == 4
        assert get_job(connection, report["job"]).state == "done"
