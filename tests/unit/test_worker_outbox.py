"""The contents of a slice's next commit: which items the slice holds, and which changes a commit takes."""

from __future__ import annotations

from db.engine.rows.steps import NewAttempt
from db.kinds.states import JobState
from db.queue.batch import FinishedItem, ReturnedItem
from db.queue.claims import ClaimedItem
from db.queue.job_stops import JobStop
from workers.outbox import Outbox


def make_item(number: int, claim: int = 7) -> ClaimedItem:
    return ClaimedItem(number, number, claim, 0, 0, 0, None, 1, "1", ())


def make_outbox(*items: int) -> Outbox:
    """Return the outbox of a slice that holds these items."""
    outbox = Outbox()
    for item in items:
        outbox.hold(make_item(item))
    return outbox


def test_an_item_is_held_until_a_stored_commit_gives_it_back():
    outbox = Outbox()
    assert outbox.is_empty
    outbox.hold(make_item(11))
    assert outbox.is_empty, "a claim is stored already"
    outbox.give_back(11, "a \0 problem", 5.0)
    assert not outbox.is_empty
    batch = outbox.take()
    assert batch.claims == {11: 7} and batch.given_back == [ReturnedItem(11, "a \ufffd problem", 5.0)]
    assert outbox.is_empty and outbox.take().claims == {11: 7}, "it is not stored yet"
    outbox.confirm(batch)
    assert outbox.take().claims == {}


def test_a_commit_ends_the_finished_items_alone():
    outbox = make_outbox(11, 12)
    outbox.finish(FinishedItem(11))
    assert not outbox.is_empty
    batch = outbox.take()
    assert (batch.finished, batch.given_back) == ([FinishedItem(11)], []) and outbox.is_empty
    outbox.confirm(batch)
    outbox.confirm(batch)
    assert outbox.take().claims == {12: 7}


def test_a_commit_takes_the_steps_and_later_changes_go_into_the_next():
    outbox = make_outbox(11)
    row = NewAttempt(11, 2, "1")
    outbox.steps.add(row)
    digest = outbox.steps.add_text("a long text")
    assert not outbox.is_empty
    batch = outbox.take()
    assert batch.rows == {NewAttempt: [row]} and batch.contents.texts == {digest: "a long text"}
    assert outbox.is_empty
    outbox.give_back(11)
    assert batch.given_back == [] and outbox.take().given_back == [ReturnedItem(11)]


def test_an_item_is_given_back_because_a_server_fails_or_a_person_has_to_answer():
    outbox = make_outbox(11, 12)
    outbox.give_back(11, "host answered 500", 30.0, is_failure=True)
    outbox.give_back(12, awaits=True)
    assert outbox.take().given_back == [
        ReturnedItem(11, "host answered 500", 30.0, awaits=False, failed=True),
        ReturnedItem(12, "", 0.0, awaits=True, failed=False),
    ]


def test_the_rest_is_given_back_without_a_problem_and_no_item_twice():
    outbox = make_outbox(11, 12, 13, 14)
    stop = JobStop(JobState.PAUSED, "item 3: approve")
    outbox.give_back(11, awaits=True)
    outbox.stop_job(12, stop)
    outbox.finish(FinishedItem(13))
    outbox.give_back_rest()
    batch = outbox.take()
    assert batch.given_back == [
        ReturnedItem(11, awaits=True),
        ReturnedItem(12, "item 3: approve", stop=stop),
        ReturnedItem(14),
    ]
    assert batch.finished == [FinishedItem(13)]


def test_nothing_of_an_item_whose_rows_were_refused_is_written_any_more():
    outbox = make_outbox(11, 12, 13, 14)
    refused = outbox.take()
    for item in (11, 12):
        outbox.steps.add(NewAttempt(item, 2, "1"))
    for item in (11, 13):
        outbox.finish(FinishedItem(item))
    for item in (11, 14):
        outbox.give_back(item)
    outbox.forget({11, 99}, refused.contents)
    batch = outbox.take()
    assert batch.claims == dict.fromkeys((12, 13, 14), 7)
    assert batch.rows[NewAttempt] == [NewAttempt(12, 2, "1")]
    assert (batch.finished, batch.given_back) == ([FinishedItem(13)], [ReturnedItem(14)])


def test_a_text_of_a_refused_commit_is_sent_again_with_the_rows_of_another_item():
    outbox = make_outbox(11, 12)
    digest = outbox.steps.add_text("a long text")
    outbox.steps.add(NewAttempt(11, 2, digest))
    refused = outbox.take()
    outbox.steps.add(NewAttempt(12, 2, digest))
    outbox.forget({11}, refused.contents)
    assert outbox.take().contents.texts == {digest: "a long text"}
