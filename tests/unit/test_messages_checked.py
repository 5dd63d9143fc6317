"""The check in front of a worker, message by message, and the counting of what it refuses: without a broker."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import workers.rejection_counter
from db.queue.sessions import list_refused_messages
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from tests.bad_messages import NOTHING, body, headers
from tests.services import wait_until
from workers.rejection_counter import MAX_DETAIL, RejectedMessageCounter
from workers.validation import MAX_BODY_BYTES, MessageRejected, _rebuild, check_message

JOB = "abcdefgh"
UUID = "51ca505c-915c-49df-8316-0389c9b1ee1c"


def message(content: Any = None, head: dict[str, Any] | None = None, **changes: Any) -> Any:
    values = {"content_type": "application/json", "content_encoding": "utf-8", "properties": {}}
    return SimpleNamespace(**values | {"body": content or body(JOB), "headers": head or headers()} | changes)


def refused(*arguments: Any, **changes: Any) -> str:
    with pytest.raises(MessageRejected) as caught:
        check_message(message(*arguments, **changes))
    return str(caught.value)


def test_a_nudge_passes_however_its_body_came():
    for content in (body(JOB), body(JOB).decode(), memoryview(body(JOB))):
        assert check_message(message(content)) == JOB
    for encoding in ("utf-8", "utf8"):
        assert check_message(message(content_encoding=encoding)) == JOB
    for limits in (None, [None, None], (None, None)):
        assert check_message(message(head=headers(timelimit=limits))) == JOB
    assert check_message(message(head=headers(eta=None, group="", expires=0))) == JOB


def test_a_body_may_be_as_long_as_allowed_and_no_longer():
    padded = body(JOB) + b" " * (MAX_BODY_BYTES - len(body(JOB)))
    assert check_message(message(padded)) == JOB
    assert refused(padded + b" ") == "too large"


@pytest.mark.parametrize("job", ["abcdefg", "abcdefghj", "ABCDEFGH", "abcdefg1", "abcdefg%", "abcdefgh\n", ""])
def test_an_id_is_eight_letters_of_ours_and_nothing_more(job):
    assert refused(body(job)) == "forged"


@pytest.mark.parametrize("identifier", [None, 7, "", f"{UUID}\n", f"x{UUID}", "0" * 36])
def test_a_message_id_is_a_uuid_and_nothing_more(identifier):
    assert refused(head={**headers(), "id": identifier}) == "no message id"


@pytest.mark.parametrize(
    "head",
    [
        {"eta": "2999-01-01"},
        {"expires": 5},
        {"group": "g"},
        {"stamps": {"a": 1}},
        {"stamped_headers": ["a"]},
        {"replaced_task_nesting": 1},
        {"timelimit": [5, None]},
        {"timelimit": [None, 5]},
        {"timelimit": 5},
    ],
)
def test_what_a_nudge_never_asks_for_is_refused(head):
    assert refused(head=headers(**head)) == "with options"


@pytest.mark.parametrize("name", NOTHING)
def test_other_work_before_or_after_is_refused(name):
    assert refused(body(JOB, **{name: [{"task": "evaluate"}]})) == "with options"


@pytest.mark.parametrize(
    "content",
    [
        body(),
        body(JOB, JOB),
        body(7),
        body(JOB, keywords={"job": JOB}),
        b"[]",
        b'"abcdefgh"',
        json.dumps([[JOB], {}]).encode(),
        json.dumps([[JOB], {}, []]).encode(),
        json.dumps([[JOB], [], {}]).encode(),
    ],
)
def test_a_nudge_has_one_argument_and_no_named_ones(content):
    assert refused(content) == "wrong arguments"


def test_what_passes_is_rebuilt_from_what_was_checked():
    """Celery and its children read all of a message's headers and properties."""
    head = headers(argsrepr="evil", retries=99, root_id="evil", parent_id="evil", shadow="evil", origin="o" * 500)
    passed = message(head=head, properties={"delivery_tag": 7, "reply_to": "evil", "correlation_id": "evil"})
    _rebuild(passed, check_message(passed))
    assert passed.properties == {"delivery_tag": 7}
    assert passed.headers == {
        "lang": "py",
        "task": "evaluate",
        "id": head["id"],
        "root_id": head["id"],
        "parent_id": None,
        "group": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": repr([JOB]),
        "kwargsrepr": "{}",
        "origin": "o" * 80,
        "ignore_result": True,
    }
    assert json.loads(passed.body) == [[JOB], {}, NOTHING]


def counted(database) -> dict[str, tuple[int, str]]:
    with database.engine.connect() as connection:
        return {row.reason: (row.messages, row.latest) for row in list_refused_messages(connection)}


def test_counts_that_could_not_be_written_are_counted_beside_what_came_meanwhile(database, monkeypatch):
    """The newer detail stays."""
    monkeypatch.setattr(workers.rejection_counter, "AGAIN_SECONDS", 0.05)
    found = RejectedMessageCounter(Settings(database_url=database.url))
    times = []

    def away_at_first(*arguments):
        times.append(1)
        if len(times) == 1:
            found.add("forged", "meanwhile", 2)
            raise OSError("away")
        return Deployment(*arguments)

    monkeypatch.setattr(workers.rejection_counter, "Deployment", away_at_first)
    found.add("forged", "before", 3)
    wait_until(lambda: counted(database) == {"forged": (5, "meanwhile")}, "they are written", 60)
    found.close()
    assert counted(database) == {"forged": (5, "meanwhile")} and len(times) == 2


def test_a_detail_is_cut_and_made_printable(database):
    found = RejectedMessageCounter(Settings(database_url=database.url))
    found.add("forged", "a\x1b[31m\n" + "b" * 1000)
    found.close()
    assert counted(database) == {"forged": (1, "a?[31m?" + "b" * (MAX_DETAIL - 7))}


def test_a_process_counts_until_it_closes_its_counter(database, monkeypatch):
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url)
    mine = workers.rejection_counter.get_rejection_counter()
    assert workers.rejection_counter.get_rejection_counter() is mine
    mine.add("forged", "one")
    workers.rejection_counter.close_rejected_messages()
    assert counted(database) == {"forged": (1, "one")}
    workers.rejection_counter.close_rejected_messages()  # nothing is left to close
    other = workers.rejection_counter.get_rejection_counter()
    assert other is not mine
    workers.rejection_counter.close_rejected_messages()
