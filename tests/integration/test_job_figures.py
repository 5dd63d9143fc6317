"""What is shown of a job while it runs and afterwards, and which job a request finds. On SQLite and PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from db.engine.connection import now
from db.engine.lease import Lease
from db.engine.rows.steps import NewAttempt
from db.kinds.totals import EpisodeTotals
from db.models import EpisodeRow, Heartbeat, Item, JobRow, ScoreRow
from db.queries.filters import Filter
from db.queries.job_list import page_of_jobs
from db.queries.jobs import get_job, jobs_of_kind
from db.queries.results import messages, outputs, values_by_metric
from db.queries.trajectory import get_trajectory
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.budget import cost_of_job, pause_for, set_budget, tokens
from db.queue.commit import commit
from db.queue.fence import beat, end_session, start_session
from db.queue.figures import calls_by_ending, latency_by_role, sum_running_scores, totals
from db.queue.job_changes import cancel, finish_if_idle, resume
from db.queue.sessions import live_sessions
from db.queue.shares import list_caps, set_cap
from lumos_queue.commands import Ask, Note, Step
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import SpecError
from lumos_queue.records import Completion, FinishReason, Outcome, Score, Subgoal, Verdict
from tests.claims import claim, finish, holder, new_job
from tests.integration.test_claims import record


def read(database, function, *arguments):
    with database.engine.connect() as connection:
        return function(connection, *arguments)


@pytest.mark.parametrize("held", [True, False])
def test_a_job_that_is_being_cancelled_is_not_shown_to_who_asks_for_the_same(database, held):
    job = new_job(database)
    assert new_job(database) == job
    if held:
        claim(database, holder(database, job), 1)
    assert cancel(database, job) == ("cancelling" if held else "cancelled")
    again = new_job(database)
    assert again != job, "it will not be done"
    assert new_job(database) == again


def test_jobs_of_a_kind_are_those_that_go_on_or_are_done_and_jobs_are_listed_the_newest_first(database):
    jobs = [new_job(database, digest=f"{number:064x}") for number in range(4)]
    with database.writer.begin() as connection:
        for number, job in enumerate(jobs):
            connection.execute(update(JobRow).where(JobRow.id == job).values(created_at=1000.0 + number))
        connection.execute(update(JobRow).where(JobRow.id == jobs[3]).values(state="submitting"))
    who = holder(database, jobs[0])
    (item,) = claim(database, who, 1)
    commit(database, who, Batch({item.id: item.claim}, finished=[finish(item)]))
    claim(database, holder(database, jobs[1]), 1)
    cancel(database, jobs[1])
    assert [row.id for row in read(database, jobs_of_kind, "evaluate")] == [jobs[2], jobs[0]]
    assert read(database, jobs_of_kind, "train") == []
    found = read(database, page_of_jobs, Filter(), "", 10)
    assert [row.id for row in found] == [jobs[2], jobs[1], jobs[0]]
    assert [row.id for row in read(database, page_of_jobs, Filter(), "", 1)] == [jobs[2]]


def ask(position: int, finish_reason: str = "stop", seconds: float = 1.0) -> Step:
    return Step(position, 0, Ask("planner", f"prompt {position}"), Completion("r", finish_reason, 10, 3, seconds))


@pytest.fixture
def half_done(database):
    """Of five episodes one is right, one wrong, one ended by infrastructure, one at work and one owed."""
    job = new_job(database, tasks=5)
    who = holder(database, job)
    right, wrong, gone, going = claim(database, who, 4)
    claims = {item.id: item.claim for item in (right, wrong, gone, going)}
    first, _ = record(
        right, ask(0), ask(1, FinishReason.GIVEN, 9.0), Step(2, 0, Note(Subgoal(1, "Subgoal 1: x")), None)
    )
    left, _ = record(right, ask(0), ask(3), ask(4), Step(5, 0, Note(Subgoal(1, "Subgoal 1: y")), None), attempt=2)
    under_way, _ = record(going, ask(0, seconds=4.0))
    for rows, texts in (first, left, under_way):
        commit(database, who, Batch(claims, rows, texts))
    commit(database, who, Batch(claims, {NewAttempt: [NewAttempt(right.id, 2, "2")]}))
    cost = EpisodeTotals(2, 20, 6)
    finished = [
        FinishedItem(right.id, Outcome("7", "answered"), (Score("accuracy", 1.0), Score("strict", 1.0)), totals=cost),
        FinishedItem(wrong.id, Outcome("8", "limit", "eight subgoals"), (Score("accuracy", 0.0, of=3),), totals=cost),
        FinishedItem(gone.id, Outcome(None, "infra_error", "404"), (Score("accuracy", 1.0),), totals=cost),
    ]
    commit(database, who, Batch(claims, finished=finished))
    with database.writer.begin() as connection:
        # A judgement may be there before the episode ends: of a judge that is asked on the way.
        connection.execute(update(EpisodeRow).where(EpisodeRow.id == going.id).values(calls=50))
    return job, who, (right, wrong, gone, going)


def test_figures_are_of_what_has_ended_and_scores_of_what_infrastructure_left_alone(database, half_done):
    job, _, (right, wrong, *_) = half_done
    found = read(database, totals, job)
    assert (found.finished, found.totals) == (3, EpisodeTotals(6, 60, 18))
    assert read(database, sum_running_scores, job) == (1.0, 2)
    tasks = {item.id: read(database, _task_of, item.id) for item in (right, wrong)}
    assert read(database, values_by_metric, job) == {
        "accuracy": [(tasks[right.id], 1.0, 1), (tasks[wrong.id], 0.0, 3)],
        "strict": [(tasks[right.id], 1.0, 1)],
    }


def _task_of(connection, item: int) -> int:
    return connection.execute(select(Item.task).where(Item.id == item)).scalar_one()


def test_calls_are_counted_of_the_accepted_attempt_and_latency_of_calls_that_were_made(database, half_done):
    job, *_ = half_done
    # Of the accepted attempt; what the second attempt recorded was given up, and one episode is still at work.
    assert read(database, calls_by_ending, job) == [("answered", 1, 2, 1), ("infra_error", 0, 0, 1), ("limit", 0, 0, 1)]
    ((role, calls, means),) = read(database, latency_by_role, job)
    assert (role, calls, means["seconds"]) == ("planner", 1, 1.0), "what was given is no call"


def test_messages_are_of_episodes_that_ended_otherwise_the_commonest_first(database, half_done):
    job, who, (*_, going) = half_done
    assert read(database, messages, job) == [("infra_error", "404", 1), ("limit", "eight subgoals", 1)]
    done = FinishedItem(going.id, Outcome(None, "limit", "eight subgoals"))
    commit(database, who, Batch({going.id: going.claim}, finished=[done]))
    assert read(database, messages, job) == [("limit", "eight subgoals", 2), ("infra_error", "404", 1)]
    assert read(database, messages, job, 1) == [("limit", "eight subgoals", 2)]


def test_what_was_spent_is_spent_on_prompts_and_on_replies_at_their_prices(database, half_done):
    job, *_ = half_done
    asked, written = read(database, tokens, job)
    assert (asked, written) == (60, 18), "of unfinished items and abandoned attempts too"
    assert read(database, cost_of_job, job, 2.0, 10.0) == pytest.approx((60 * 2 + 18 * 10) / 1e6)


def test_a_budget_needs_a_teacher_or_prices_and_changes_nothing_else(database):
    job = new_job(database)
    with pytest.raises(SpecError, match="has no prices"):
        set_budget(database, job, 5.0)
    with database.writer.begin() as connection:
        spec = {"infer": {"prompt_price": 0.5, "limit": 3}}
        connection.execute(update(JobRow).where(JobRow.id == job).values(spec=spec))
    set_budget(database, job, 5.0)
    assert read(database, get_job, job).spec == {"infer": {"prompt_price": 0.5, "limit": 3, "budget": 5.0}}
    taught = new_job(database, kind="convert", digest="cd" * 32)
    with pytest.raises(SpecError, match="asks no teacher"):
        set_budget(database, taught, 5.0)
    with database.writer.begin() as connection:
        spec = {"teacher": "chat://a:1", "budget": 1.0, "seed": 7}
        connection.execute(update(JobRow).where(JobRow.id == taught).values(spec=spec))
    set_budget(database, taught, 5.0)
    assert read(database, get_job, taught).spec == {"teacher": "chat://a:1", "budget": 5.0, "seed": 7}


def test_a_job_that_has_ended_is_not_paused_for_its_budget(database):
    job = new_job(database)
    cancel(database, job)
    pause_for(database, job, "the budget is spent")
    assert (read(database, get_job, job).state, read(database, get_job, job).waiting) == ("cancelled", "")
    other = new_job(database, digest="cd" * 32)
    pause_for(database, other, "the budget is spent")
    assert (read(database, get_job, other).state, read(database, get_job, other).waiting) == (
        "paused",
        "the budget is spent",
    )


def test_outputs_are_those_of_finished_items_in_their_order(database):
    job = new_job(database, tasks=0, kind="train", windows=3)
    who = holder(database, job)
    items = claim(database, who)
    done = [FinishedItem(item.id, output={"loss": item.ordinal}) for item in items[:2]]
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=done[::-1]))
    assert read(database, outputs, job) == [(0, {"loss": 0}), (1, {"loss": 1})]


def test_processes_that_live_are_those_that_reported_lately_and_what_they_hold(database):
    job = new_job(database)
    busy, silent, gone = holder(database, job), start_session(database, "1"), start_session(database, "1")
    items = claim(database, busy, 3)
    commit(database, busy, Batch({items[0].id: items[0].claim}, finished=[finish(items[0])]))
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == silent).values(at=now() - 60))
    end_session(database, gone)
    assert [(row.id, row.items) for row in read(database, live_sessions, Lease(15.0))] == [(busy.session, 2)]
    assert len(read(database, live_sessions, Lease(100.0))) == 2


def test_an_episode_owed_again_begins_with_nothing_of_its_ending(database):
    """Its items' deaths, level, verdicts and scores are of the past; numbers of the past count from 1."""
    job = new_job(database, tasks=1)
    who = holder(database, job)
    for number in (1, 2):
        (item,) = claim(database, who)
        verdicts = (Verdict("planner", "refused"), Verdict("grounder", "refused"), Verdict("planner", "overlong"))
        end = FinishedItem(
            item.id, Outcome(None, "infra_error", "404"), (Score("accuracy", 0.0),), verdicts=verdicts, level="format"
        )
        commit(database, who, Batch({item.id: item.claim}, finished=[end]))
        with database.writer.begin() as connection:
            connection.execute(update(Item).values(deaths=2, problem="503", not_before_at=now() + 100))
        assert finish_if_idle(database, job) == "done"
        trajectory = read(database, get_trajectory, read(database, get_job, job), 0)
        assert [(row.module, row.name) for row in trajectory.verdicts] and len(trajectory.verdicts) == 3
        assert resume(database, job) == "queued"
        with database.engine.connect() as connection:
            item_row = connection.execute(select(Item.__table__)).one()
            episode = connection.execute(select(EpisodeRow.__table__)).one()
            assert not connection.execute(select(ScoreRow.value)).all()
        assert (item_row.deaths, item_row.problem, item_row.not_before_at) == (0, "", 0.0)
        assert (episode.level, episode.ending, episode.finished_at) == ("", "", None)
        trajectory = read(database, get_trajectory, read(database, get_job, job), 0)
        assert [row.number for row in trajectory.earlier] == list(range(1, number + 1)) and not trajectory.verdicts


def test_a_cap_that_was_lifted_leaves_no_shares(database):
    job = new_job(database)
    who = holder(database, job)
    for url in ("tgi://a:1", "tgi://b:2"):
        set_cap(database, url, 10)
    both = {"tgi://a:1": Traffic(1, 3), "tgi://b:2": Traffic(0, 4)}
    assert beat(database, who.session, [], both).shares == {"tgi://a:1": 10, "tgi://b:2": 10}
    set_cap(database, "tgi://a:1", None)
    assert beat(database, who.session, [], both).shares == {"tgi://a:1": None, "tgi://b:2": 10}
    set_cap(database, "tgi://a:1", 3)
    assert read(database, list_caps) == [("tgi://a:1", 3, 0, 0, False), ("tgi://b:2", 10, 10, 1, False)]


def test_who_has_more_in_flight_than_its_share_holds_it_until_it_ends(database):
    job = new_job(database)
    one, other = holder(database, job), holder(database, job)
    set_cap(database, "tgi://a:1", 10)
    beat(database, one.session, [], {"tgi://a:1": Traffic(0, 64)})
    set_cap(database, "tgi://a:1", 4)
    for _ in range(3):
        assert beat(database, one.session, [], {"tgi://a:1": Traffic(9, 55)}).shares["tgi://a:1"] in (2, 4)
        assert beat(database, other.session, [], {"tgi://a:1": Traffic(0, 64)}).shares["tgi://a:1"] == 0
    with database.engine.connect() as connection:
        assert list_caps(connection)[0][2] == 9


def test_a_failure_is_counted_and_told_until_the_item_is_done(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    for failures in (1, 2):
        (item,) = claim(database, who)
        commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id, "503", failed=True)]))
        with database.engine.connect() as connection:
            assert tuple(connection.execute(select(Item.failures, Item.problem)).one()) == (failures, "503")
    (item,) = claim(database, who)
    commit(database, who, Batch({item.id: item.claim}, finished=[finish(item)]))
    with database.engine.connect() as connection:
        assert tuple(connection.execute(select(Item.failures, Item.problem)).one()) == (2, "")
