"""Verdicts of one module and name become one row, and none of their details is lost on the way."""

from __future__ import annotations

from lumos_queue.conversion.verdicts import DETAIL_CHARACTERS, merge_verdicts
from lumos_queue.records import Verdict


def test_every_detail_stays_in_the_order_in_which_it_was_found_and_once():
    found = merge_verdicts(
        [
            Verdict("planner", "overlong", "b"),
            Verdict("grounder", "overlong", "c"),
            Verdict("planner", "refused", "d"),
            Verdict("planner", "overlong", "a"),
            Verdict("planner", "overlong", "b"),
            Verdict("planner", "overlong", ""),
        ]
    )
    assert found == [
        Verdict("planner", "overlong", "b; a"),
        Verdict("grounder", "overlong", "c"),
        Verdict("planner", "refused", "d"),
    ]


def test_what_rejects_and_what_is_noted_stay_apart():
    both = [Verdict("planner", "x", "one", True), Verdict("planner", "x", "two", False)]
    assert merge_verdicts(both) == both


def test_details_are_cut_where_a_column_ends_and_not_before():
    long = "y" * (DETAIL_CHARACTERS - 3)
    (found,) = merge_verdicts(
        [Verdict("planner", "x", "a"), Verdict("planner", "x", long), Verdict("planner", "x", "z")]
    )
    assert found.detail == f"a; {long}" and len(found.detail) == DETAIL_CHARACTERS
