"""`lumos watch`: what it shows on a screen of any size, how it ends, and that an absent database ends nothing."""

from __future__ import annotations

import io
import json
import re
import signal
import threading

import pytest
from rich.console import Console
from sqlalchemy import make_url, update

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import Heartbeat, Item, JobRow
from db.queue.batch import Batch, FinishedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import beat
from db.queue.job_changes import cancel, pause, remove, resume
from db.queue.schedule import back_off
from lumos_queue.cli import output
from lumos_queue.cli.main import main
from lumos_queue.cli.watch import _Lines, _poll
from lumos_queue.cli.watch_screen import Screen
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.records import Outcome, Score
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from tests.services import wait_until
from tests.terminal import Terminal

HOSTILE = "\x1b[2J[red]boom[/red] \u202e <script>" + "x" * 10_000
URL = "tgi://gpu-1:8080"


def watched_once(database, *jobs: str) -> WatchedJobs:
    watched = WatchedJobs(Settings(), jobs)
    with database.engine.connect() as connection:
        watched.read(connection)
    return watched


def render(watched: WatchedJobs, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False, legacy_windows=False)
    console.print(Screen(watched), height=height)
    return console.file.getvalue().splitlines()


def half_done(database, tasks: int = 8, **options) -> tuple[str, object]:
    """A job with two right answers, a wrong one and an error; a worker holds the rest."""
    job = new_job(database, tasks=tasks, **options)
    who = holder(database, job)
    items = claim(database, who)
    ends = [
        finish(items[0]),
        finish(items[1]),
        FinishedItem(items[2].id, Outcome("8", "answered"), (Score("accuracy", 0.0),)),
        FinishedItem(items[3].id, Outcome(None, "action_error", HOSTILE), (Score("accuracy", 0.0),)),
    ]
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=ends), ClaimRequest(0))
    with database.writer.begin() as connection:
        spec = {"infer": {"agent": {"roles": {"planner": URL, "grounder": "tgi://\x1b[2J\u202eevil"}}}}
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="running", name=HOSTILE, spec=spec))
    return job, who


def test_a_screen_says_how_far_a_job_is_with_bounds_calls_and_errors(database):
    job, who = half_done(database)
    beat(database, who.session, [], {URL: Traffic(5, 7, 8.0, 5, 130.0, 24)})
    shown = "\n".join(render(watched_once(database, job), 100, 40))
    assert f"{job}  running  evaluate wordmath iterative" in shown and "4/8  50.0 %" in shown
    # Two of four are right; of all eight two are, or six.
    assert "score so far  2/4 = 50.0 %  [15.0, 85.0]  whole job 25.0 to 75.0 %" in shown
    assert "action_error 1  answered 3" in shown and "1 worker alive, 1 at work" in shown
    cells = f"{5:>15}  {8:>6}  {7:>7}    –  {24:>11}   2 min  {URL}"
    assert cells in shown, "in flight, window, waiting, no cap, replies a minute, age of the oldest"
    assert "late: 5 in flight, about 52 answered in 2 min" in shown
    text = watched_once(database, job).jobs[0].errors[0].text
    assert len(text) < 300 and not {"\x1b", "\u202e"} & set(text)
    assert "1 × action_error: " in shown and "[red]boom[/red]" in shown


@pytest.mark.parametrize(("width", "height"), [(20, 5), (20, 24), (80, 24), (100, 8), (1, 1)])
def test_no_text_of_others_and_no_size_breaks_the_screen(database, width, height):
    jobs = [half_done(database, digest=f"{number:064x}")[0] for number in range(5)]
    watched = watched_once(database, *jobs)
    lines = render(watched, width, height)
    assert len(lines) <= height and all(len(line) <= width for line in lines)
    assert not {"\x1b", "\u202e"} & set("".join(lines))
    if width > 1:
        assert "Ctrl-C" in lines[-1]
        assert jobs[0] in "".join(lines)
    if height == 5:
        assert "more job" in "".join(lines), "what does not fit is counted"


def waits(database, job: str) -> list[str]:
    return watched_once(database, job).jobs[0].waits


def test_what_keeps_a_job_from_going_on_is_told_with_what_to_do(database):
    job = new_job(database, tasks=8)
    assert waits(database, job) == [
        f"nobody works on it: no worker is alive. Start one with: lumos worker, or continue here: lumos resume {job}"
    ]
    other, who = half_done(database, digest="cd" * 32)
    assert waits(database, job) == ["nobody works on it yet: the only worker works on other jobs"]
    assert waits(database, other) == [], "it goes on"
    with database.writer.begin() as connection:
        late = Heartbeat.at - 9
        connection.execute(update(Heartbeat).where(Heartbeat.session == who.session).values(at=late))
    (silent,) = waits(database, other)
    assert re.match(rf"worker {who.session} \(.*silent for (9|1\d) s: in \d s its 4 items are pending again", silent)
    back_off(database, job, "endpoint: nothing answers.", 30.0)
    assert waits(database, job)[0].startswith("waits: endpoint: nothing answers; tried again in ")
    pause(database, job)
    assert waits(database, job) == [f"paused: by a person. Continue with: lumos resume {job}"]
    resume(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job).values(state="awaiting"))
    assert waits(database, job) == [f"8 plans wait for approval: lumos approve {job}"]


def test_all_open_jobs_are_those_that_come_later_too_and_it_ends_with_the_last(database):
    first = new_job(database)
    watched = watched_once(database)
    second = new_job(database, digest="cd" * 32)
    with database.engine.connect() as connection:
        watched.read(connection)
    assert [one.id for one in watched.jobs] == [first, second] and not watched.ended
    cancel(database, first)
    cancel(database, second)
    remove(database, second)
    with database.engine.connect() as connection:
        watched.read(connection)
    assert [one.state for one in watched.jobs] == ["cancelled", "removed"] and watched.ended


def test_a_server_that_goes_away_is_waited_for_and_said_to_be_away(postgres_server, monkeypatch, capsys):
    monkeypatch.setattr("lumos_queue.cli.watch.MAX_PAUSE", 0.5)
    monkeypatch.setattr("lumos_queue.cli.live.LINE_SECONDS", 0.1)
    monkeypatch.setattr(output, "as_json", False)
    url = postgres_server.fresh()
    name, database = make_url(url).database, open_database(url)
    job, _ = half_done(database)
    watched = WatchedJobs(Settings(), [job])
    thread = threading.Thread(target=_poll, args=(database, watched, _Lines(watched)), daemon=True)
    thread.start()
    try:
        wait_until(lambda: watched.read_at, "it has looked", 10)
        postgres_server.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        postgres_server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        wait_until(lambda: watched.silence, "it says that the database is away", 10)
        assert any("the database does not answer" in line for line in render(watched, 80, 24))
        assert any(job in line for line in render(watched, 80, 24)), "what was known is still shown"
    finally:
        postgres_server.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
    wait_until(lambda: not watched.silence, "it is back", 15)
    cancel(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="cancelled"))
    thread.join(10)
    assert not thread.is_alive() and watched.ended
    said = capsys.readouterr()
    assert "waits: the database does not answer" in said.err and "continues after" in said.err
    assert f"{job}  running  4/8 items" in said.out
    database.close()


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(database)
    yield database
    database.close()


def test_the_exit_code_is_that_of_the_jobs_completeness_and_a_program_reads_one_object(stored, capsys):
    job, _ = half_done(stored)
    cancel(stored, job)
    with stored.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="cancelled"))
    assert main(["watch", job, "--json"]) == 3
    lines = capsys.readouterr().out.splitlines()
    (one,) = json.loads(lines[0])["jobs"]
    assert len(lines) == 1 and (one["job"], one["complete"], one["go_on"]) == (job, False, f"lumos resume {job}")
    assert one["score"]["bounds"] == [0.25, 0.75]
    assert main(["watch"]) == 0 and "No job is open" in capsys.readouterr().out
    assert main(["watch", "zzzz"]) == 2


def test_at_a_terminal_ctrl_c_leaves_the_job_alone_and_says_so(stored, tmp_path):
    job = new_job(stored)
    terminal = Terminal(["watch", job], {"LUMOS_HOME": str(tmp_path)})
    try:
        terminal.expect("nobody works on it")
        assert "\x1b[?1049h" in terminal.text, "the whole screen"
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait(20) == 130
    finally:
        if terminal.process.poll() is None:
            terminal.kill()
    said = terminal.text.rpartition("\x1b[?1049l")[2]
    assert "the jobs are as they were" in said and f"lumos watch {job}" in said
    with stored.engine.connect() as connection:
        assert connection.execute(JobRow.__table__.select()).one().state == "queued"
