"""What is said of a status, word for word, and the edges of what counts as evidence."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.evidence import Evidence
from lumos_queue.endpoints.statuses import CAUSES, explain

URL = "http://name:secret@gpu:8000/v1"
ELSEWHERE = "it sends requests elsewhere, and redirects are not followed; write"


@pytest.mark.parametrize("status", CAUSES)
def test_each_known_status_is_told_with_its_own_cause_and_remedy(status):
    cause, remedy = CAUSES[status]
    told = explain(URL, status)
    assert told.startswith(f"gpu:8000 answered {status} ") and told.endswith(f": {cause}; {remedy}")


def test_other_statuses_and_what_the_server_said_are_told():
    assert explain(URL, 499, answer="busy") == (
        'gpu:8000 answered 499 ("busy"): it refuses requests; look at the server and at any proxy in front of it'
    )
    assert explain(URL, 404) == (
        "gpu:8000 answered 404 Not Found: nothing is served at this path, or no such model; "
        "check the URL's scheme, prefix and ?model="
    )


@pytest.mark.parametrize(("status", "redirect"), [(299, False), (300, True), (399, True), (400, False)])
def test_only_3xx_is_a_redirect(status, redirect):
    assert (ELSEWHERE in explain(URL, status)) == redirect


def test_a_redirect_s_address_is_shown_as_far_as_it_can_be_read():
    assert explain(URL, 301).endswith(f"{ELSEWHERE} the address of the server itself as the endpoint")
    assert f"{ELSEWHERE} /{'x' * 199} as" in explain(URL, 301, "/" + "x" * 900)
    assert f"{ELSEWHERE} /a as" in explain(URL, 301, f"/{'é' * 998}ab")  # no more than 1,000 characters are read


# --- evidence ---------------------------------------------------------------------------------------------------------


def refused(known: Evidence, item: str, now: float) -> None:
    known.note_refusal(item, known.is_serving_others(item), now)


def test_an_answer_that_was_asked_for_when_the_refusal_came_counts():
    known = Evidence()
    known.note_answer("other", 0.0)
    refused(known, "item", 1.0)
    known.note_answer("other", 1.0)
    assert not known.is_open("item")


@pytest.mark.parametrize("end", ["answer", "forget"])
def test_what_is_known_of_an_item_ends_with_its_answer_or_its_end(end):
    known = Evidence()
    refused(known, "item", 1.0)
    known.forget("unknown")
    assert known.is_open("item")
    known.note_answer("item", 0.5) if end == "answer" else known.forget("item")
    assert not known.is_open("item") and not known.blames("item", 400)
    assert known.is_lone("other")
