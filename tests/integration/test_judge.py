"""`lumos judge` on stored runs of tool agents, from the command to the report. Scripted policies and judges."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.queries.jobs import get_job
from db.queue.job_changes import cancel
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import app, main
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.rollouts.judged_rows import build_judged_rows
from lumos_queue.submission.store import Rows, submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.made_at_limit import resume_job, settings_of
from tests.integration.rollout_jobs import command, episodes, rows_of
from tests.stored_rows import run_embedded
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES
from tests.tool_judges import AGAIN, ANSWER, PAIR, TASK, find_answers, kind_of, label
from tests.tool_scripts import call, finish, give_up

SAID = {1: "It is in Ombry.", 2: "Sorry, nothing was found."}  #: what the agent answers; other rows have no answer
GIVES_UP, NEVER, REFUSED = 3, 4, 5


def rows(many: int = 5) -> Rows:
    tasks = [
        Task(
            "toolbench",
            "",
            str(number),
            f"Where is parcel P{number}?",
            {"functions": [LATEST, OFFICES]},
            {"relevant": []},
        )
        for number in range(1, many + 1)
    ]
    return rows_of(open_benchmark("toolbench"), tasks, "I1-inst")


def policy(said: dict[int, str]):
    def reply(prompt: str) -> str | None:
        numbers = re.findall(r"Where is parcel P(\d+)", prompt)
        number = int(numbers[-1]) if numbers else REFUSED
        if number == REFUSED:
            return None  # as is the control that a client then sends
        if number == NEVER:
            return "Thought: what now?"
        if "Observation" not in prompt:
            return call(LATEST_NAME, parcelid=f"P{number}")
        return finish(said[number]) if number in said else give_up()

    return reply


def judge(prompt: str) -> str | None:
    """Answers that name a town solve; giving up is right where nothing can be done; towns with an `O` are better."""
    if "Request: " not in prompt:
        return None  # a client's control
    kind = kind_of(prompt)
    if kind == ANSWER:
        (answer,) = find_answers(prompt)
        return label("Unsolved" if "Sorry" in answer else "Unsure" if "Vell" in answer else "Solved")
    if kind == PAIR:
        first, second = ("Ombry" in one for one in find_answers(prompt))
        return label("Tie" if first == second else "First" if first else "Second")
    return label({AGAIN: "Solved", TASK: "Unsolvable" if "P3?" in prompt else "Solvable"}[kind])


def tried(
    folder: Path, said: dict[int, str], url: str = "", formulation: str = "react", made: Rows | None = None, **options
) -> tuple[Database, str]:
    made = made or rows()
    with FakeEndpoint(policy(said)) as server:
        agent = Agent({"policy": server.tgi}, "tools", tools={"answers": "synthetic"}, limits=Limits(depth=4))
        agent = replace(agent, samplings={"policy": Sampling(max_tokens=1024, stop=("\nObservation:",))})
        infer = Infer("toolbench", made.digest, made.split, formulation, agent, **options)
        return run_embedded(folder, Evaluate(infer), made, url)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch) -> str:
    found = "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setenv("LUMOS_DATABASE_URL", found)
    return found


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    return tmp_path


def values(report: dict) -> dict[str, float]:
    return {name: one["value"] for name, one in report["metrics"].items()}


def judged_job(capsys, job: str, *options: str) -> tuple[int, dict, int]:
    """Exit code, report, and how often the judge was asked."""
    with FakeEndpoint(judge) as server:
        code, report = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}", *options)
        return code, report, server.count


@pytest.mark.parametrize(("formulation", "url"), [("react", "postgresql"), ("dfsdt", "sqlite")], indirect=["url"])
def test_every_run_counts(formulation, url, tmp_path, capsys):
    """Of five runs one is right, one is wrong, one gave up where nothing could be done, two have failed."""
    database, job = tried(tmp_path, SAID, url, formulation)
    endings = {one.task.row: one.ending for one in episodes(database, f"job={job}")}
    assert endings == {"1": "answered", "2": "answered", "3": "gave_up", "4": "limit", "5": "infra_error"}
    code, report, asked = judged_job(capsys, job)
    assert code == 0 and (report["benchmark"], report["formulation"]) == ("tooleval", "tooleval")
    assert values(report) == {"pass": 0.2, "tooleval_pass": 0.4, "sopr": 0.2}
    assert report["metric"] == "pass" and report["n"] == 5 and report["complete"]
    assert all(one["of"] == 5 and one["ci95"][0] < one["value"] < one["ci95"][1] for one in report["metrics"].values())
    assert asked == report["calls"] == 3 + (3 + 3) + 3, "solved; unsolved, and the request; the request alone"
    judged = {one.task.inputs["from"]["row"]: one for one in episodes(database, f"job={report['job']}")}
    assert not judged["4"].steps and not judged["5"].steps, "nothing is asked of a run that has failed"
    assert {one.role for one in judged["2"].steps} == {"judge"} and len({one.branch for one in judged["1"].steps}) == 3
    assert database.close() is None


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_two_jobs_are_compared_and_changing_sides_changes_who_wins(url, tmp_path, capsys):
    database, own = tried(tmp_path, SAID, url)
    _, other = tried(tmp_path, {1: "It is in Vell.", 3: "It is in Ombry."}, url)
    database.close()
    found = {}
    for job, against in ((own, other), (other, own)):
        code, report, _ = judged_job(capsys, job, "--against", against, "--votes", "3")
        assert code == 0 and report["metrics"]["win"]["of"] == 5
        found[job] = values(report)["win"]
    # 1: both pass, the town is better. 2: neither passes, the same pair in both orders. 3: both pass. 4, 5: ties.
    assert found[own] == 1 - found[other]
    assert found[own] == pytest.approx((1 + 0.5 + 0 + 0.5 + 0.5) / 5)


def test_the_same_request_is_the_same_job_and_a_run_less_raises_nothing(home, capsys):
    database, job = tried(home, SAID)
    code, report, _ = judged_job(capsys, job)
    with FakeEndpoint(judge) as server:  # another server, thus another job
        _, again = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}")
        _, same = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}")
    assert code == 0 and again["job"] == same["job"] and values(again) == values(same) == values(report)
    for number in (1, 2):
        _, fewer = tried(home, {key: value for key, value in SAID.items() if key != number})
        assert all(
            less <= values(report)[name]
            for name, less in values(judged_job(capsys, fewer)[1]).items()
            if name != "tooleval_pass"
        )
    database.close()


def test_samples_of_a_task_are_runs_of_their_own_and_one_cluster(home, capsys):
    database, job = tried(home, SAID, samples=4)
    _, report, _ = judged_job(capsys, job)
    _, once = tried(home, SAID)
    _, single, _ = judged_job(capsys, once)
    database.close()
    assert report["n"] == 20 and values(report) == values(single)
    assert report["metrics"]["pass"]["ci95"] == single["metrics"]["pass"]["ci95"], "equal samples say nothing new"


def test_a_judge_that_refuses_leaves_a_run_unjudged_and_resume_asks_again(home, capsys):
    database, job = tried(home, SAID)
    refused = True

    def moody(prompt: str) -> str | None:
        return None if refused and "P2?" in prompt else judge(prompt)

    with FakeEndpoint(moody) as server:
        code, report = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}")
        assert code == 3 and not report["complete"] and report["endings"]["infra_error"] == 1
        assert report["metrics"]["pass"]["of"] == 5 and report["bounds"] == [0.2, 0.4]
        refused = False
        code, report = command(app, capsys, "resume", report["job"])
    assert code == 0 and report["complete"] and values(report) == {"pass": 0.2, "tooleval_pass": 0.4, "sopr": 0.2}
    database.close()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_after_a_kill_no_recorded_vote_is_asked_for_again(url, tmp_path, capsys):
    """ToolBench counted what it found twice when it went on."""
    made = rows(12)
    database, source = tried(tmp_path, {number: "Sorry." for number in range(1, 13)}, url, made=made)
    settings = settings_of(tmp_path, url)
    with database.engine.connect() as connection:
        found = build_judged_rows(database, get_job(connection, source)).rows
    with FakeEndpoint(judge, latency=0.05, slots=4) as server:
        sampling = Sampling(0.2, stop=())
        agent = Agent({"judge": server.tgi}, "tools", samplings={"judge": sampling}, settings={"votes": "5"})
        job = Evaluate(Infer("tooleval", found.digest, found.split, "tooleval", agent))
        identifier, _ = submit(database, settings, job, found)
        database.close()
        work_and_die(settings, identifier)
        database = open_database(settings.database)
        recorded, before = count(database, identifier), server.count
        resume_job(settings, identifier)
        assert 0 < recorded < count(database, identifier) == 10 * 10
        assert server.count - before == 10 * 10 - recorded
    _, report = command(app, capsys, "report", identifier)
    assert report["n"] == 12 and all(one["of"] == 12 for one in report["metrics"].values())
    assert values(report)["sopr"] == 0
    database.close()


def count(database: Database, job: str) -> int:
    """Votes of a job that are stored."""
    query = text("SELECT count(*) FROM completion c JOIN episode e ON e.id = c.episode WHERE e.job = :job")
    with database.engine.connect() as connection:
        return connection.execute(query, {"job": job}).scalar_one()


def work_and_die(settings, job: str) -> None:
    """Until some votes are stored."""
    pid = os.fork()
    if not pid:
        resume_job(settings, job)
        os._exit(0)
    try:
        database, until = open_database(settings.database), time.monotonic() + 60
        while count(database, job) < 12:
            assert time.monotonic() < until, "no vote was stored"
            time.sleep(0.01)
        database.close()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


# --- what is refused


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> tuple[Path, str]:
    """A folder with a job of tool agents."""
    folder = tmp_path_factory.mktemp("judged")
    database, job = tried(folder, SAID)
    database.close()
    return folder, job


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["nosuchjob"], "No job has an id that starts with 'nosuchjob'. List them with: lumos jobs"),
        (["JOB", "--against", "nosuchjob"], "No job has an id that starts with 'nosuchjob'"),
        (["JOB", "--against", "JOB"], "is the judged job itself: name another one"),
        (["JOB", "--role", "qa=tgi://127.0.0.1:9"], "No role that --role can set here called 'qa'. Choose one of"),
        (["JOB", "--temperature", "0"], "Greedy votes are all equal: give --temperature above 0, or --votes 1."),
        (["JOB", "--temperature", "inf"], "--temperature is inf: expected a number of at least 0."),
        (["JOB", "--framing", "odd"], "No framing called 'odd'"),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line(options, problem, stored, monkeypatch, capsys):
    folder, job = stored
    monkeypatch.setenv("LUMOS_HOME", str(folder))
    given = [job if one == "JOB" else one for one in options]
    if "--role" not in given:
        (folder / "rules.json").write_text("[]")
        given += ["--role", f"judge=scripted:{folder / 'rules.json'}"]
    assert main(["judge", *given]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and problem in said[0]


def test_without_a_judge_nothing_is_judged(stored, monkeypatch, capsys):
    folder, job = stored
    monkeypatch.setenv("LUMOS_HOME", str(folder))
    assert main(["judge", job, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)["error"]
    assert said == "No endpoint for the role judge: give --role judge=URL."


def test_even_votes_are_allowed_and_said(stored, monkeypatch, capsys):
    folder, job = stored
    monkeypatch.setenv("LUMOS_HOME", str(folder))
    with FakeEndpoint(judge) as server:
        assert main(["judge", job, "--votes", "2", "--role", f"judge={server.tgi}"]) == 0
    said = capsys.readouterr().err
    assert "such a tie counts 1/2" in said and "1 of 5 runs have no result: they count as failed" in said
    assert "1 of 5 runs ended without Finish" in said


def test_the_benchmark_is_not_read_from_a_file(stored, monkeypatch, capsys):
    folder, _ = stored
    monkeypatch.setenv("LUMOS_HOME", str(folder))
    assert main(["evaluate", "tooleval", "--formulation", "tooleval"]) == 2
    assert "judge them with lumos judge JOB" in capsys.readouterr().err


def test_jobs_that_cannot_be_compared_or_judged(home):
    database, job = tried(home, SAID)
    _, fewer = tried(home, SAID, made=rows(4))
    _, twice = tried(home, SAID, samples=2)
    _, first = tried(home, SAID, limit=3)
    with database.engine.connect() as connection:
        own, *others = (get_job(connection, one) for one in (job, fewer, twice, first))
    for other, problem in zip(others, ("different datasets", "--samples 1 and 2", "--limit 0 and 3"), strict=True):
        with pytest.raises(SpecError, match=problem):
            build_judged_rows(database, own, other)
    database.close()


def test_a_job_of_other_agents_is_refused(home):
    maths = open_benchmark("wordmath")
    made = rows_of(maths, [task for _, task in zip(range(2), maths.read(None, "test"), strict=False)], "test")
    (home / "rules.json").write_text(json.dumps([{"contains": "", "reply": "2"}]))
    agent = Agent({"solver": f"scripted:{home / 'rules.json'}"}, "maths")
    database, job = run_embedded(home, Infer("wordmath", made.digest, "test", "direct", agent), made)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    with pytest.raises(SpecError, match=r"is of 'wordmath', whose tasks list no functions"):
        build_judged_rows(database, row)
    database.close()


def test_a_job_at_work_is_waited_for_and_a_cancelled_one_counts_whole(home):
    database = open_database(settings_of(home).database)
    upgrade(database)
    made = rows()
    infer = Infer("toolbench", made.digest, made.split, "react", Agent({"policy": "tgi://127.0.0.1:9"}, "tools"))
    job, _ = submit(database, settings_of(home), Evaluate(infer), made)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    with pytest.raises(SpecError, match=f"Job {job} is queued, so its runs may still change: wait for it"):
        build_judged_rows(database, row)
    cancel(database, job)
    with database.engine.connect() as connection:
        found = build_judged_rows(database, get_job(connection, job))
    assert found.ended == {"missing": 5} and len(found.rows.tasks) == 5
    database.close()
