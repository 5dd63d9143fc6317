"""The queue of an audit: who gets which place, and which forms are refused."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from db.engine.connection import open_database
from db.models import AuditSample, Label, Reservation
from db.queries.filters import parse_where
from db.queries.web_actions import list_actions
from db.queue.job_changes import remove
from db.review.audit_progress import count_left, count_own, progress_by_person
from db.review.audits import sample_audit, samples_of
from db.review.labels import NewLabel, add_labels
from db.review.reservations import SECONDS, reserve_next, skip_place, store_label, take_back_label
from lumos_queue.errors import SpecError
from lumos_queue.scoring.sampling import AuditKind
from tests.scored_jobs import create_scored_job
from tests.web.conftest import LEASE

AUDIT = "first"
pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


def draw(database, size: int = 6, twice: float = 0.0) -> str:
    job = create_scored_job(database, [[one % 2] for one in range(size)])
    sample_audit(database, AUDIT, parse_where(""), size, 0, AuditKind.RUNS, twice)
    return job


def next_for(database, person: str):
    return reserve_next(database, AUDIT, person).next


def label(database, person: str, one, value: str = "right", note: str = ""):
    return store_label(database, AUDIT, person, one.number, one.token, value, note)


def labels_of(database) -> list[tuple[int, str, str]]:
    """(place, person, label), in the order in which they were given."""
    with database.engine.connect() as connection:
        rows = connection.execute(
            select(AuditSample.place, Label.labeller, Label.value)
            .join(Label, Label.episode == AuditSample.episode)
            .order_by(Label.id)
        )
        return [tuple(row) for row in rows]


def expire(database, person: str) -> None:
    with database.writer.begin() as connection:
        own = Reservation.person == person
        connection.execute(update(Reservation).where(own).values(expires_at=Reservation.expires_at - SECONDS - 1))


def left(database) -> int:
    with database.engine.connect() as connection:
        return count_left(connection, AUDIT)


def test_people_who_look_at_once_see_different_places_and_each_their_own_again(database):
    draw(database)
    seen = {person: next_for(database, person) for person in ("ann", "bob", "eve")}
    assert [one.number for one in seen.values()] == [1, 2, 3]
    assert {person: next_for(database, person) for person in seen} == seen


def test_a_label_is_stored_and_brings_the_next_place(database):
    draw(database)
    first = next_for(database, "ann")
    turn = label(database, "ann", first, "wrong", "divides")
    assert (turn.number, turn.value, turn.problem, turn.next.number) == (1, "wrong", "", 2)
    assert labels_of(database) == [(1, "ann", "wrong")]
    assert left(database) == 5
    with database.engine.connect() as connection:
        (noted,) = list_actions(connection, 10)
    assert (noted.person, noted.action, noted.target, noted.detail) == (
        "ann",
        "label",
        AUDIT,
        "place 1: wrong, with a note",
    )


def test_a_form_that_is_posted_again_stores_nothing_and_shows_the_next_place(database):
    draw(database)
    first = next_for(database, "ann")
    second = label(database, "ann", first).next
    turn = label(database, "ann", first, "wrong")
    assert turn.problem.startswith("You have labelled place 1 already.")
    assert (turn.episode, turn.next) == (None, second)
    assert labels_of(database) == [(1, "ann", "right")]


def test_a_reservation_that_expired_goes_to_who_needs_the_place_and_its_form_is_refused(database):
    draw(database)
    late = next_for(database, "ann")
    expire(database, "ann")
    taken = next_for(database, "bob")
    assert taken.number == late.number
    turn = label(database, "ann", late)
    assert turn.problem.startswith("Place 1 is not reserved for you any more")
    assert turn.next.number == 2
    assert label(database, "bob", taken).problem == ""
    assert label(database, "ann", late).problem.startswith("Place 1 was labelled by another person meanwhile.")
    assert labels_of(database) == [(1, "bob", "right")]


def test_a_reservation_that_expired_holds_while_nobody_needs_the_place(database):
    draw(database)
    late = next_for(database, "ann")
    expire(database, "ann")
    assert label(database, "ann", late).problem == ""


def test_a_token_that_was_not_given_out_stores_nothing(database):
    draw(database)
    first = next_for(database, "ann")
    skip_place(database, AUDIT, "ann", first.number, first.token)  # its token is empty now
    for token in ("", "wrong", "\0", "x" * 100_000):
        for place in (1, 2, 7):
            assert store_label(database, AUDIT, "ann", place, token, "right").problem, (place, token[:9])
    other = next_for(database, "bob")
    assert store_label(database, AUDIT, "ann", other.number, other.token, "right").problem
    assert labels_of(database) == []


def test_a_label_that_there_is_not_is_refused(database):
    draw(database)
    with pytest.raises(SpecError, match="No label called '7'"):
        label(database, "ann", next_for(database, "ann"), "7")


def test_skipped_places_come_again_after_all_others_the_longest_skipped_first(database):
    draw(database, 3)
    seen = []
    for _ in range(7):
        one = next_for(database, "ann")
        seen.append((one.number, one.was_skipped))
        skip_place(database, AUDIT, "ann", one.number, one.token)
    fresh = [(1, False), (2, False), (3, False)]
    again = [(1, True), (2, True), (3, True)]
    assert seen == [*fresh, *again, (1, True)]
    assert next_for(database, "bob").number == 1  # what another person skipped is like any other


def test_the_last_label_is_taken_back_and_its_place_is_seen_again(database):
    draw(database, 3)
    label(database, "ann", next_for(database, "ann"), "wrong")
    label(database, "bob", next_for(database, "bob"))
    looked_at = next_for(database, "ann")
    turn = take_back_label(database, AUDIT, "ann")
    assert (turn.number, turn.value, turn.next.number) == (1, "wrong", 1)
    assert labels_of(database) == [(3, "bob", "right")]
    assert left(database) == 2
    assert next_for(database, "eve").number == looked_at.number == 2  # it went back to the queue
    assert label(database, "ann", looked_at).problem
    assert label(database, "ann", turn.next, "right").problem == ""
    with database.engine.connect() as connection:
        assert "take back label" in [one.action for one in list_actions(connection, 10)]


def test_there_is_nothing_to_take_back_for_who_gave_no_label_here(database):
    draw(database, 3)
    one = next_for(database, "ann")
    add_labels(database, [NewLabel(one.episode, "right", "ann"), NewLabel(one.episode, "right", "bob", audit=AUDIT)])
    turn = take_back_label(database, AUDIT, "ann")
    assert turn.problem == "You have no label here to take back."
    assert len(labels_of(database)) == 2


def test_labels_of_the_command_line_count_and_a_place_that_has_them_is_not_shown(database):
    draw(database, 3)
    looked_at = next_for(database, "ann")
    add_labels(database, [NewLabel(looked_at.episode, "right", "bob", audit=AUDIT)])
    assert left(database) == 2
    assert label(database, "ann", looked_at).problem.startswith("Place 1 was labelled by another person")
    assert labels_of(database) == [(1, "bob", "right")]


def test_a_removed_job_takes_its_places_with_it(database):
    job = draw(database, 3)
    looked_at = next_for(database, "ann")
    remove(database, job, with_labels=True)
    turn = label(database, "ann", looked_at)
    assert turn.problem.startswith("There is no place 1 any more")
    assert turn.next is None


def test_many_people_at_two_servers_label_each_place_once_and_the_shared_ones_twice(database):
    size, people = 24, [f"person {number}" for number in range(6)]
    draw(database, size, twice=0.25)
    with database.engine.connect() as connection:
        wanted = dict(connection.execute(select(AuditSample.place, AuditSample.labels_wanted)).all())
    assert Counter(wanted.values()) == {1: 18, 2: 6}
    other = open_database(database.url, LEASE.idle_milliseconds)

    def work(number: int) -> int:
        person, given = people[number], 0
        mine = (database, other)[number % 2]
        while (one := next_for(mine, person)) is not None:
            turn = label(mine, person, one, ("right", "wrong")[number % 2])
            assert turn.problem == ""
            given += 1
        return given

    try:
        with ThreadPoolExecutor(len(people)) as pool:
            given = sum(pool.map(work, range(len(people))))
        while left(database):  # of shared places whose second labeller found them reserved, and went home
            for person in people:
                while (one := next_for(database, person)) is not None:
                    given += label(database, person, one).problem == ""
    finally:
        other.close()
    found = labels_of(database)
    assert given == len(found) == 30
    assert Counter(place for place, _, _ in found) == wanted
    assert len({(place, person) for place, person, _ in found}) == 30


def test_who_is_alone_gives_one_label_to_a_shared_place(database):
    draw(database, 4, twice=1.0)
    while (one := next_for(database, "ann")) is not None:
        label(database, "ann", one)
    assert left(database) == 4
    assert [one.labels_left for one in places(database)] == [1] * 4
    assert next_for(database, "bob").number == 1


def places(database):
    with database.engine.connect() as connection:
        return samples_of(connection, AUDIT)


def test_two_may_look_at_a_shared_place_at_once_and_a_third_may_not(database):
    draw(database, 2, twice=0.5)
    shared = next(one.number for one in places(database) if one.labels_left == 2)
    seen = [one.number if one else None for one in (next_for(database, person) for person in ("a", "b", "c", "d"))]
    assert sorted(place for place in seen if place) == sorted([shared, shared, 3 - shared])
    assert seen.count(None) == 1


def test_progress_of_people(database):
    draw(database, 6, twice=0.5)
    for _ in range(3):
        label(database, "ann", next_for(database, "ann"))
    label(database, "bob", next_for(database, "bob"))
    with database.writer.begin() as connection:  # 30 s apart, but for a night before the last
        ids = connection.execute(select(Label.id).where(Label.labeller == "ann").order_by(Label.id)).scalars().all()
        for number, at in zip(ids, (1000.0, 1030.0, 90_000.0), strict=True):
            connection.execute(update(Label).where(Label.id == number).values(labelled_at=at))
    with database.engine.connect() as connection:
        ann, bob = progress_by_person(connection, AUDIT)
        assert count_own(connection, AUDIT, "ann") == 3
    assert (ann.labelled, ann.per_hour, bob.labelled, bob.per_hour) == (3, 120, 1, None)
    for row in (ann, bob):
        assert row.remaining == sum(one.labels_left > 0 and row.person not in one.labels for one in places(database))
