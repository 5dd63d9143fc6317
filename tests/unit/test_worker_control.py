"""Control commands of a worker: which messages are read, and who gets which answer. On a broker in memory."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker import control
from kombu import Connection, Producer
from redis.exceptions import ResponseError

import workers.remote_control
from workers.app import make_app
from workers.remote_control import (
    MAX_BODY_BYTES,
    MAX_NAME,
    READING_COMMANDS,
    CheckedControl,
    CheckedPidbox,
    ControlRequest,
    answer_control_request,
    check_control_message,
)
from workers.validation import MessageRejected

REPLIES = "reply.celery.pidbox"
WORKER, OTHER = "llm@here", "cpu@there"


def message(content: Any = None, **changes: Any) -> Any:
    body = content if isinstance(content, bytes | str | memoryview) else json.dumps(content).encode()
    return SimpleNamespace(**{"content_type": "application/json", "content_encoding": "utf-8", "body": body} | changes)


def refusal(content: Any = None, **changes: Any) -> str:
    with pytest.raises(MessageRejected) as caught:
        check_control_message(message(content, **changes), REPLIES)
    return str(caught.value)


class Counter:
    """Keeps what would be counted in the database."""

    def __init__(self):
        self.counts: list[tuple[str, str]] = []

    def add(self, reason: str, detail: str, messages: int = 1) -> None:
        self.counts.append((reason, detail))


@pytest.fixture
def counted(monkeypatch) -> list[tuple[str, str]]:
    counter = Counter()
    monkeypatch.setattr(workers.remote_control, "get_rejection_counter", lambda: counter)
    return counter.counts


def test_a_command_is_read_with_all_its_parts():
    content = {
        "method": "query_task",
        "arguments": {"ids": ["x"]},
        "destination": [WORKER],
        "reply_to": {"exchange": REPLIES, "routing_key": "key"},
        "ticket": "t",
    }
    expected = ControlRequest("query_task", {"ids": ["x"]}, [WORKER], "key", "t")
    body = json.dumps(content)
    for form in (body, body.encode(), memoryview(body.encode())):
        for encoding in ("utf-8", "utf8"):
            assert check_control_message(message(form, content_encoding=encoding), REPLIES) == expected


@pytest.mark.parametrize("empty", [{}, {"arguments": None, "destination": None, "reply_to": None, "ticket": None}])
def test_a_command_alone_is_for_all_workers_and_expects_no_reply(empty):
    request = check_control_message(message({"method": "ping", **empty}), REPLIES)
    assert request == ControlRequest("ping", {}, None, "", "")


def test_an_empty_destination_is_for_all_workers():
    assert check_control_message(message({"method": "ping", "destination": []}), REPLIES).destination is None


@pytest.mark.parametrize(
    ("content", "changes", "reason"),
    [
        ({"method": "ping"}, {"content_type": "application/x-python-serialize"}, "not JSON"),
        ({"method": "ping"}, {"content_encoding": "binary"}, "not JSON"),
        ({"method": "ping"}, {"body": ["ping"]}, "too large"),
        (b"{", {}, "unreadable body"),
        (b"[" * 10_000, {}, "unreadable body"),
        ([], {}, "no control command"),
        ({}, {}, "no control command"),
        ({"method": 5}, {}, "no control command"),
        ({"method": "ping", "arguments": [1]}, {}, "wrong arguments"),
        ({"method": "ping", "destination": WORKER}, {}, "wrong arguments"),
        ({"method": "ping", "pattern": ".*"}, {}, "with options"),
        ({"method": "ping", "matcher": "pcre"}, {}, "with options"),
        ({"method": "ping", "reply_to": "key"}, {}, "wrong reply address"),
        ({"method": "ping", "reply_to": {"exchange": "llm", "routing_key": "k"}}, {}, "wrong reply address"),
        ({"method": "ping", "reply_to": {"exchange": REPLIES, "routing_key": 5}}, {}, "wrong reply address"),
        ({"method": "ping", "reply_to": {"routing_key": "k"}}, {}, "wrong reply address"),
        ({"method": "ping", "ticket": 5}, {}, "wrong reply address"),
    ],
)
def test_a_message_that_is_no_command_is_refused_with_its_reason(content, changes, reason):
    assert refusal(content, **changes) == reason


def test_a_body_and_names_have_a_greatest_length():
    body = json.dumps({"method": "ping"}).encode()
    longest = body + b" " * (MAX_BODY_BYTES - len(body))
    assert check_control_message(message(longest), REPLIES).command == "ping"
    assert refusal(longest + b" ") == "too large"
    for field in ("ticket", "reply_to"):
        name = "k" * MAX_NAME
        for length, text in ((MAX_NAME, name), (MAX_NAME + 1, name + "k")):
            value = {"exchange": REPLIES, "routing_key": text} if field == "reply_to" else text
            if length > MAX_NAME:
                assert refusal({"method": "ping", field: value}) == "wrong reply address"
            else:
                request = check_control_message(message({"method": "ping", field: value}), REPLIES)
                assert text in (request.ticket, request.reply_key)


def ask(state: Any, command: str, **arguments: Any) -> Any:
    return answer_control_request(ControlRequest(command, arguments, None, "", ""), state)


def test_a_command_that_would_change_the_worker_is_refused_with_advice_and_counted(counted):
    name = "shutdown" + "x" * 100
    assert ask(None, name) == {
        "error": f"refused: lumos workers take no control command '{name[:60]}'. To stop work, use lumos pause or "
        "lumos cancel; to change workers, start them with other options."
    }
    assert counted == [("control command", f"{name}: workers only answer questions")]


def test_all_reading_commands_are_known_to_celery_or_our_own():
    assert set(READING_COMMANDS) - set(control.Panel.data) == set()
    assert {"conf", "stats", "enable_events", "ping", "active"} <= set(READING_COMMANDS)
    assert not {"shutdown", "revoke", "pool_grow", "add_consumer", "rate_limit"} & set(READING_COMMANDS)


def test_arguments_that_a_command_does_not_need_are_dropped(counted):
    assert ask(SimpleNamespace(), "ping", kind="anything") == {"ok": "pong"}
    assert ask(SimpleNamespace(tset=set), "query_task", ids=["x"], other=1) == {}
    assert counted == []


def test_a_command_whose_arguments_are_wrong_answers_with_the_name_of_the_error_and_is_counted(counted):
    assert ask(SimpleNamespace(tset=set), "query_task", ids=[[]]) == {"error": "query_task failed: TypeError"}
    assert counted == [("wrong arguments", "control command query_task: TypeError")]


def test_events_are_always_enabled_and_the_answer_says_so():
    assert ask(None, "enable_events") == {"ok": "task events already enabled"}


def test_stats_name_the_broker_without_its_login():
    login = {"userid": "lumos", "login_method": "PLAIN", "alternates": ["amqp://u:p@h"], "ssl": True}
    facts = {
        "hostname": "h",
        "port": 5672,
        "transport": "amqp",
        "virtual_host": "/",
        "connect_timeout": 4,
        "heartbeat": 30.0,
    }
    stats = {"pid": 7, "broker": {**login, **facts}, "consumer": {"broker": {**login, "port": 1}}}
    state = SimpleNamespace(consumer=SimpleNamespace(controller=SimpleNamespace(stats=lambda: stats)))
    assert ask(state, "stats") == {"pid": 7, "broker": facts, "consumer": {"broker": {"port": 1}}}


def test_stats_of_a_worker_without_a_connection_are_answered():
    state = SimpleNamespace(consumer=SimpleNamespace(controller=SimpleNamespace(stats=lambda: {"pid": 7})))
    assert ask(state, "stats") == {"pid": 7}


def test_the_configuration_has_what_was_set_and_no_secret():
    app = make_app("amqp://user:SECRET@host//")
    app.conf.update(broker_read_url="redis://:SECRET@h/0", broker_password="SECRET", result_backend="redis://:SECRET@r")
    conf = ask(SimpleNamespace(app=app), "conf")
    assert "SECRET" not in json.dumps(conf)
    assert conf["broker_url"] == "amqp://user:***@host//"
    assert conf["broker_read_url"] == "redis://***@h/0" and conf["result_backend"].startswith("redis://")
    assert conf["timezone"] == "UTC" and conf["worker_prefetch_multiplier"] == 1
    assert "enable_utc" not in conf, "defaults of Celery are left out"


def test_the_configuration_is_answered_though_a_value_is_no_json():
    app = make_app("memory://")
    app.conf.beat_schedule = {"x": object(), 7: 1}
    assert ask(SimpleNamespace(app=app), "conf")["beat_schedule"]["x"].startswith("<object object")


@pytest.fixture
def mailbox(counted):
    """The mailbox of a worker on a broker in memory; `send` gives it a message, `replies` are what came back."""
    app = make_app("memory://")
    with Connection("memory://") as connection:
        consumer = SimpleNamespace(
            app=app,
            hostname=WORKER,
            connection=connection,
            pool=None,
            controller=SimpleNamespace(use_eventloop=True),
            on_decode_error=lambda *_: None,
        )
        box = CheckedPidbox(consumer)
        box.start(consumer)
        replies: list[Any] = []
        exchange = app.control.mailbox.reply_exchange
        queue = app.control.mailbox.reply_queue(connection.default_channel)
        with connection.Consumer([queue], callbacks=[lambda body, _: replies.append(body)], no_ack=True):
            address = {"exchange": exchange.name, "routing_key": queue.routing_key}

            def send(content: Any) -> None:
                if isinstance(content, dict):
                    content = {"reply_to": address, "ticket": "t", **content}
                Producer(connection).publish(content, exchange=app.control.mailbox.exchange, serializer="json")
                while True:
                    try:
                        connection.drain_events(timeout=0.1)
                    except TimeoutError:
                        return

            yield SimpleNamespace(box=box, send=send, replies=replies, app=app, consumer=consumer)
        box.stop(consumer)


def test_a_worker_answers_the_sender_of_a_command(mailbox):
    mailbox.send({"method": "ping"})
    assert mailbox.replies == [{WORKER: {"ok": "pong"}}]


def test_a_worker_answers_commands_for_itself_and_not_those_for_others(mailbox):
    mailbox.send({"method": "ping", "destination": [OTHER]})
    assert mailbox.replies == []
    mailbox.send({"method": "ping", "destination": [OTHER, WORKER]})
    assert mailbox.replies == [{WORKER: {"ok": "pong"}}]


def test_a_command_without_an_address_is_not_answered(mailbox):
    mailbox.send({"method": "ping", "reply_to": None})
    assert mailbox.replies == []


def test_a_message_that_is_no_command_is_counted_and_not_answered(mailbox, counted):
    mailbox.send(["ping"])
    assert (mailbox.replies, counted) == ([], [("no control command", "a control message")])
    mailbox.send({"method": "ping"})
    assert mailbox.replies == [{WORKER: {"ok": "pong"}}], "the next command is answered"


def test_a_command_moves_the_logical_clock_by_a_step_whatever_time_it_claims(mailbox):
    before = mailbox.app.clock.value
    mailbox.send({"method": "ping", "clock": 10**9})
    assert before < mailbox.app.clock.value < before + 10


@pytest.mark.parametrize(
    ("error", "resets"), [(OSError("gone"), 1), (ResponseError("OOM command not allowed"), 0)], ids=["gone", "full"]
)
def test_a_reply_that_cannot_be_sent_is_logged_and_the_worker_listens_again(
    mailbox, monkeypatch, caplog, error, resets
):
    """A broker that refuses commands would refuse the new connection, too."""
    starts = []

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as context:
        context.setattr(mailbox.box.node, "reply", fail)
        context.setattr(mailbox.box, "reset", lambda: starts.append(1))
        mailbox.send({"method": "ping"})
    assert len(starts) == resets and caplog.messages == [f"a reply was not sent: {error!r}"]
    mailbox.send({"method": "ping"})
    assert mailbox.replies == [{WORKER: {"ok": "pong"}}]


def test_the_step_of_the_worker_starts_and_stops_the_checked_mailbox(mailbox):
    step = CheckedControl(mailbox.consumer)
    assert type(step.box) is CheckedPidbox and step.box.c is mailbox.consumer
    assert (step.start, step.stop, step.shutdown) == (step.box.start, step.box.stop, step.box.shutdown)
