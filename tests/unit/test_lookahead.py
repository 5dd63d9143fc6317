"""How many items a slice claims ahead of its free places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workers.lookahead import LookAhead


def test_a_slice_that_has_finished_nothing_claims_as_many_as_it_has_places():
    assert LookAhead().items_to_claim(slots=8, busy=0, now=1.0) == 8
    assert LookAhead().items_to_claim(slots=8, busy=5, now=1.0) == 3
    assert LookAhead().items_to_claim(slots=8, busy=8, now=1.0) == 0


def test_the_pace_is_the_smoothed_number_of_items_finished_between_commits():
    pace = LookAhead().observe(8)
    assert pace.pace == 4.0
    assert pace.observe(16).pace == 6.0
    assert pace.observe(8).pace == 2.0


def test_items_of_four_commits_are_claimed_again_once_those_of_two_are_used_up():
    pace = LookAhead(pace=3.0)
    assert pace.items_to_claim(slots=8, busy=8 + 6, now=1.0) == 0
    assert pace.items_to_claim(slots=8, busy=8 + 5, now=1.0) == 7


def test_nothing_is_claimed_ahead_of_suspects():
    assert LookAhead(pace=3.0).items_to_claim(slots=2, busy=1, now=1.0, ahead=False) == 1
    assert LookAhead(pace=3.0).items_to_claim(slots=2, busy=2, now=1.0, ahead=False) == 0


def test_after_a_claim_that_brought_less_the_next_one_waits():
    waiting = LookAhead().wait_until(5.0)
    assert waiting.items_to_claim(slots=8, busy=0, now=4.9) == 0
    assert waiting.items_to_claim(slots=8, busy=0, now=5.0) == 8
    assert waiting.observe(1).not_before == 5.0


@given(st.floats(0, 1000), st.integers(0, 100), st.integers(0, 10_000), st.booleans())
def test_a_claim_fills_the_places_and_never_asks_for_less_than_one_item(pace, places, busy, ahead):
    wanted = LookAhead(pace=pace).items_to_claim(places, busy, 1.0, ahead=ahead)
    assert wanted >= 0
    assert wanted > 0 or busy >= places
    assert busy + wanted >= places
