"""The sums of a job are what its rows add up to, whatever has happened to it. On SQLite and PostgreSQL."""

from __future__ import annotations

import random
import threading

import pytest
from sqlalchemy import func, select, update

from db.engine.connection import now
from db.engine.lease import Lease, SilenceWatch
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.models import BaselineRow, CallSum, EpisodeRow, Heartbeat, Item, ItemSum, ScoreSum, VersionSum
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit, end_refused
from db.queue.fence import end_session, reap
from db.queue.figures import calls_by_ending, count_endings, count_scores, latency_by_role, progress, totals
from db.queue.job_changes import cancel, finish_if_idle, pause, resume
from db.queue.quarantine import DEATHS
from db.queue.recount import differences, recount, repair
from lumos_queue.commands import Ask, Do, Note, Step
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Completion, Ending, Execution, FinishReason, Outcome, Score, Subgoal
from tests.claims import claim, holder, new_job

HEADS = {"planner": "<|user|>\nPlan.\n", "grounder": "<|user|>\nGround.\n"}


def ask(position: int, role: str, chance: random.Random) -> Step:
    reason = FinishReason.GIVEN if chance.random() < 0.1 else FinishReason.STOP
    seconds, waited = chance.random(), chance.random()
    prompt = HEADS[role] + f"prompt {position}" if chance.random() < 0.8 else f"no head {position}"
    return Step(position, 0, Ask(role, prompt), Completion("r", reason, chance.randrange(20), 3, seconds, 0, 0, waited))


def some_steps(first: int, chance: random.Random) -> list[Step]:
    made = []
    for position in range(first, first + chance.randrange(5)):
        kind = chance.randrange(4)
        if kind < 2:
            made.append(ask(position, ("planner", "grounder")[kind], chance))
        elif kind == 2:
            made.append(Step(position, 0, Note(Subgoal(position, "Subgoal: x")), None))
        else:
            done = Execution("ok", "5", (), "", chance.random())
            made.append(Step(position, 0, Do(Action(("R1",), "Calculator", "2 + 3", "R1 = Calculator(2 + 3)")), done))
    return made


def work(database, who, items, chance: random.Random, give_back: float) -> Batch:
    """Go on with claimed items: what was recorded of them is recalled, more is recorded, most of them end."""
    buffer, batch = Buffer(), Batch({item.id: item.claim for item in items})
    for item in items:
        journal = EpisodeJournal(item.id, item.attempt, buffer, HEADS, item.code_version)
        for step in item.steps:
            journal.recall(step)
        for step in some_steps(1 + max((step.position for step in item.steps), default=0), chance):
            journal.record(step)
        if chance.random() < give_back:
            batch.given_back.append(ReturnedItem(item.id, "503" if chance.random() < 0.5 else ""))
            continue
        ending = chance.choice([Ending.ANSWERED, Ending.ANSWERED, Ending.LIMIT, Ending.INFRA_ERROR])
        scores = (
            Score("accuracy", chance.choice([0.0, 1.0])),
            Score("f1", chance.randrange(7) / 6, of=chance.randrange(1, 4)),
        )
        figures = journal.figures
        batch.finished.append(
            FinishedItem(
                item.id,
                Outcome("7", ending, "m"),
                scores,
                item.attempt,
                figures.totals,
                figures=figures if chance.random() < 0.8 else None,
            )
        )
    batch.rows, batch.contents = buffer.take()
    return batch


def kill(database, who) -> None:
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == who.session).values(at=now() - 100))
    reap(database, who.session, SilenceWatch(Lease(15)))


def is_right(database, job: str) -> None:
    with database.engine.connect() as connection:
        assert list(map(str, differences(connection, job))) == []
        counted = dict(
            connection.execute(select(Item.state, func.count()).where(Item.job == job).group_by(Item.state)).all()
        )
        assert progress(connection, job) == counted


@pytest.mark.parametrize("seed", range(3))
def test_sums_equal_the_recount_after_whatever_happens(database, seed):
    chance = random.Random(seed)
    job = new_job(database, tasks=60, samples=2)
    who, held, deeds = holder(database, job), [], []
    for _ in range(60):
        deed = chance.choice(["claim", "work", "work", "twice", "kill", "end", "cancel", "resume", "pause", "refuse"])
        deeds.append(deed)
        if deed == "claim":
            held += claim(database, who, chance.randrange(1, 8))
        elif deed in ("work", "twice") and held:
            batch = work(database, who, held, chance, 0.3)
            commit(database, who, batch)
            if deed == "twice":  # the answer of the first one was lost
                commit(database, who, batch)
            held = commit(database, who, Batch({}), ClaimRequest(3)) if chance.random() < 0.5 else []
        elif deed == "refuse" and held:
            one = held.pop()
            end_refused(database, who, one.id, one.claim, "the rows are refused")
        elif deed == "kill":
            kill(database, who)
            who, held = holder(database, job), []
        elif deed == "end":
            end_session(database, who.session)
            who, held = holder(database, job), []
        elif deed == "cancel":
            cancel(database, job)
        elif deed == "pause":
            pause(database, job)
        elif deed == "resume":
            resume(database, job)
        finish_if_idle(database, job)
        is_right(database, job)
    assert len(set(deeds)) > 5


def test_what_kills_its_processes_is_counted_as_quarantined_until_it_is_owed_again(database):
    job = new_job(database, tasks=1)
    for _ in range(DEATHS):
        with database.writer.begin() as connection:
            connection.execute(update(Item).values(not_before_at=0.0))
        who = holder(database, job)
        assert len(claim(database, who, 1)) == 1
        kill(database, who)
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"quarantined": 1}
    is_right(database, job)
    resume(database, job)
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"owed": 1}
    is_right(database, job)


def test_many_items_are_cancelled_and_owed_again_in_chunks(database, monkeypatch):
    monkeypatch.setattr("db.engine.chunks.FIRST_ROWS", 7)
    job = new_job(database, tasks=30)
    who = holder(database, job)
    commit(database, who, work(database, who, claim(database, who, 5), random.Random(1), 0.0))
    cancel(database, job)
    is_right(database, job)
    resume(database, job)
    is_right(database, job)


def test_sessions_that_end_items_at_the_same_time_lose_none(database):
    job = new_job(database, tasks=200)
    problems, all_hold_some = [], threading.Barrier(4, timeout=60)

    def go_on(number: int) -> None:
        chance, who = random.Random(number), holder(database, job)
        try:
            items = claim(database, who, 9)
            all_hold_some.wait()
            while items:
                commit(database, who, work(database, who, items, chance, 0.0))
                items = claim(database, who, 9)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    finish_if_idle(database, job)
    is_right(database, job)
    with database.engine.connect() as connection:
        assert totals(connection, job).finished == 200
        assert sum(count_endings(connection, job).values()) == 200
        sessions = connection.execute(select(ItemSum.session).where(ItemSum.job == job).distinct()).all()
        assert len(sessions) == 4, "each session has rows of its own"
    for _ in range(2):
        resume(database, job)
        who = holder(database, job)
        commit(database, who, work(database, who, claim(database, who, 200), random.Random(7), 0.0))
        is_right(database, job)


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        (ItemSum, {"calls": ItemSum.calls + 1}, "item_sum"),
        (CallSum, {"lost": CallSum.lost + 0.5}, "call_sum"),
        (ScoreSum, {"episodes": ScoreSum.episodes - 1}, "score_sum"),
        (VersionSum, {"value": "another"}, "version_sum"),
    ],
)
def test_a_sum_that_is_wrong_is_told_and_can_be_put_right(database, table, change, told):
    job, other = new_job(database, tasks=3), new_job(database, tasks=3, digest="cd" * 32)
    for one in (job, other):
        who = holder(database, one)
        commit(database, who, work(database, who, claim(database, who, 3), random.Random(5), 0.0))
    with pytest.raises(SpecError, match="is being worked on"):
        repair(database, job)
    pause(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(table).where(table.job == job).values(change))
    assert {name: {one.table for one in found} for name, found in recount(database)} == {job: {told}, other: set()}
    repair(database, job)
    is_right(database, job)


def test_figures_are_those_of_the_rows(database):
    job = new_job(database, tasks=50)
    who = holder(database, job)
    commit(database, who, work(database, who, claim(database, who, 50), random.Random(3), 0.2))
    with database.engine.connect() as connection:
        mine = (EpisodeRow.job == job, EpisodeRow.ending != "")
        counted = dict(
            connection.execute(select(EpisodeRow.ending, func.count()).where(*mine).group_by(EpisodeRow.ending)).all()
        )
        assert count_endings(connection, job) == counted
        assert sum(episodes for *_, episodes in calls_by_ending(connection, job)) == sum(counted.values())
        scored = sum(counted.values()) - counted["infra_error"]
        assert {name: sum(one.episodes for one in found) for name, found in count_scores(connection, job).items()} == {
            "accuracy": scored,
            "f1": scored,
        }
        assert {role for role, *_ in latency_by_role(connection, job)} == {"planner", "grounder"}


def test_the_sums_and_kept_baselines_of_a_job_go_with_it():
    for table in (ItemSum, CallSum, ScoreSum, VersionSum, BaselineRow):
        (key,) = table.__table__.foreign_keys
        assert key.ondelete == "CASCADE"
