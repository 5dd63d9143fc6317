"""A broker that refuses, and hostile messages: what kombu and Celery get of them, and what the log says."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.transport import TRANSPORT_ALIASES, pyamqp, redis
from redis.exceptions import BusyLoadingError, ConnectionError, ResponseError

import workers.broker_refusals
import workers.transports
import workers.validation
from tests.bad_messages import body, headers
from workers.broker_refusals import REPEAT_SECONDS, OncePerMinute, find_refusal, quiet_logs
from workers.transports import (
    MalformedMessage,
    RabbitMessage,
    RedisChannel,
    RedisMessage,
    install_transports,
)
from workers.validation import CheckingConsumer, MessageRejected, describe_message

FULL = "OOM command not allowed when used memory > 'maxmemory'."
JOB = "abcdefgh"


def caused(error: Exception, cause: BaseException | None, depth: int = 1) -> Exception:
    for _ in range(depth):
        outer = RuntimeError("outer")
        outer.__cause__, cause = cause, outer
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ResponseError(FULL), FULL[:-1]),
        (ResponseError("MISCONF  Redis\n is configured."), "MISCONF Redis is configured"),
        (BusyLoadingError(""), "BusyLoadingError"),
        (ResponseError("x" * 300), "x" * 200),
        (caused(OSError("x"), ResponseError("READONLY"), depth=3), "READONLY"),
        (caused(OSError("x"), ResponseError("READONLY"), depth=4), ""),
        (ConnectionError("refused"), ""),
        (OSError("x"), ""),
        (None, ""),
    ],
)
def test_the_reason_of_a_refusal_is_that_of_the_broker_also_behind_other_errors(error, reason):
    assert find_refusal(error) == reason


def test_a_refusal_met_while_another_error_was_handled_is_a_refusal():
    try:
        try:
            raise ResponseError("LOADING")
        except ResponseError:
            raise OSError("x")  # noqa: B904
    except OSError as error:
        assert find_refusal(error) == "LOADING"


class Log:
    """A log with the filter, and a clock that the test sets."""

    def __init__(self):
        self.now = 0.0
        self._filter = OncePerMinute(lambda: self.now)

    def write(self, message: str, *arguments: object, error: Exception | None = None, name: str = "x") -> str | None:
        """Return the line, or None if it was dropped."""
        information = (type(error), error, None) if error else None
        record = logging.LogRecord(name, logging.ERROR, "file", 1, message, arguments, information)
        if not self._filter.filter(record):
            return None
        assert not (error and find_refusal(error) and (record.exc_info or record.exc_text)), "without a traceback"
        return record.getMessage()


def test_a_refusal_is_a_line_a_minute_without_a_traceback():
    log = Log()
    assert log.write("consumer %s", "llm", error=ResponseError(FULL)) == f"consumer llm: {FULL[:-1]}"
    log.now = REPEAT_SECONDS - 1
    assert log.write("consumer %s", "llm", error=ResponseError(FULL)) is None
    log.now = REPEAT_SECONDS
    assert log.write("consumer %s", "llm", error=ResponseError(FULL)) == f"consumer llm: {FULL[:-1]}"
    log.now += 1
    assert log.write("consumer %s", "llm", error=ResponseError(FULL)) is None


def test_lines_about_other_things_are_not_limited_by_each_other():
    log = Log()
    assert log.write("first", error=ResponseError(FULL))
    assert log.write("second", error=ResponseError(FULL))
    assert log.write("first", error=BusyLoadingError("LOADING")) == "first: LOADING"
    for _ in range(2):
        assert log.write("first") == "first"
        assert log.write("first", error=OSError("gone")) == "first"


def test_a_refusal_that_is_an_argument_of_the_line_stays_in_it():
    log = Log()
    assert log.write("retry: %s in %s", ResponseError("LOADING"), 5) == "retry: LOADING in 5"
    assert log.write("retry: %s in %s", ResponseError("LOADING"), 7) is None
    assert log.write("%(a)s", {"a": 5}) == "5"


def test_reconnections_are_a_line_a_minute_whatever_the_error():
    log = Log()
    assert log.write("Connection error: %r", OSError("x"), name="kombu.mixins")
    assert log.write("Connection error: %r", OSError("y"), name="kombu.mixins") is None
    assert log.write("Connection error: %r", OSError("y"))
    assert log.write("Connection error: %r", ValueError("y"), name="kombu.mixins")


def test_the_loggers_of_the_clients_of_a_broker_are_limited_once(monkeypatch):
    names = ("test.client.a", "test.client.b")
    monkeypatch.setattr(workers.broker_refusals, "_LOGGERS", names)
    logging.getLogger(names[1]).addFilter(logging.Filter("test"))
    for _ in range(2):
        quiet_logs()
    for name in names:
        limits = [each for each in logging.getLogger(name).filters if isinstance(each, OncePerMinute)]
        assert len(limits) == 1


DELIVERY = {"exchange": "llm", "routing_key": "llm"}


def envelope(**changes: Any) -> dict[str, Any]:
    properties = {"delivery_tag": "tag", "delivery_info": DELIVERY, "body_encoding": "base64"}
    return {"body": "e30=", "headers": {}, "content-type": "application/json", "properties": properties} | changes


def properties(**changes: Any) -> dict[str, Any]:
    return envelope(properties={"delivery_tag": "tag", "delivery_info": DELIVERY, **changes})


CHANNEL = redis.Channel.__new__(redis.Channel)


def read_errors(message: Any) -> list[str]:
    return [str(error[1]) for error in message.errors or ()]


@pytest.mark.parametrize(
    "payload",
    [envelope(), envelope(headers=None), properties(), properties(body_encoding=None), properties(other={"a": 1})],
)
def test_an_envelope_of_a_client_is_read(payload):
    message = RedisMessage(payload, CHANNEL)
    assert read_errors(message) == []
    assert (message.delivery_tag, message.delivery_info["routing_key"]) == ("tag", "llm")


@pytest.mark.parametrize(
    "payload",
    [
        7,
        [1],
        None,
        {},
        envelope(body=5),
        envelope(headers=[1]),
        envelope(properties={}),
        envelope(properties={"delivery_tag": 5, "delivery_info": DELIVERY}),
        envelope(properties={"delivery_tag": "tag", "delivery_info": "llm"}),
        properties(delivery_info={"exchange": "llm"}),
        properties(delivery_info={"exchange": 5, "routing_key": "llm"}),
        properties(delivery_info={"exchange": "llm", "routing_key": None}),
        properties(body_encoding="rot13"),
        envelope(body="ä"),
    ],
)
def test_an_element_that_is_no_envelope_is_an_empty_message_that_can_be_confirmed(payload):
    message = RedisMessage(payload, CHANNEL)
    assert read_errors(message) == ["unreadable envelope"]
    assert isinstance(message.errors[0][1], MalformedMessage)
    assert message.headers == {} and not message.body
    assert message.delivery_info == {"exchange": "", "routing_key": ""}
    assert len(message.delivery_tag) == 36 and message.channel is CHANNEL
    assert message.delivery_tag != RedisMessage(payload, CHANNEL).delivery_tag, "each is confirmed by its own tag"


def test_a_compressed_message_is_never_decompressed_on_either_broker():
    packed = RedisMessage(envelope(headers={"compression": "bzip2"}), CHANNEL)
    assert read_errors(packed) == ["compressed"]
    channel = SimpleNamespace(no_ack_consumers=set())

    def rabbit(fields: dict[str, Any]) -> RabbitMessage:
        raw = SimpleNamespace(properties=fields, body=b"{}", delivery_tag=1, delivery_info={}, content_encoding="utf-8")
        return RabbitMessage(raw, channel)

    assert read_errors(rabbit({"application_headers": {"compression": "bzip2"}})) == ["compressed"]
    for fields in ({}, {"application_headers": None}, {"application_headers": {"task": "x"}}):
        message = rabbit({"content_type": "application/json", **fields})
        assert message.channel is channel and message.body == b"{}" and not message.errors


class Refusals:
    def __init__(self):
        self.counts: list[tuple[str, str]] = []

    def add(self, reason: str, detail: str, messages: int = 1) -> None:
        self.counts.append((reason, detail))


@pytest.fixture
def counted(monkeypatch) -> list[tuple[str, str]]:
    refusals = Refusals()
    for module in (workers.transports, workers.validation):
        monkeypatch.setattr(module, "get_rejection_counter", lambda: refusals)
    return refusals.counts


@pytest.mark.parametrize("name", ["_brpop_read", "_receive_one"])
def test_an_element_that_breaks_the_client_is_counted_and_the_worker_reads_on(monkeypatch, counted, name):
    def read(*_: object, **__: object) -> None:
        raise ValueError("Expecting value")

    monkeypatch.setattr(redis.Channel, name, read)
    channel = RedisChannel.__new__(RedisChannel)
    monkeypatch.setattr(RedisChannel, "connection_errors", (), raising=False)
    assert getattr(channel, name)(*([None] if name == "_receive_one" else [])) is True
    assert counted == [("unreadable envelope", "ValueError: Expecting value")]


@pytest.mark.parametrize("name", ["_brpop_read", "_receive_one"])
def test_an_error_of_the_connection_is_left_to_the_client(monkeypatch, counted, name):
    def read(*_: object, **__: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(redis.Channel, name, read)
    monkeypatch.setattr(RedisChannel, "connection_errors", (), raising=False)
    channel = RedisChannel.__new__(RedisChannel)
    with pytest.raises(OSError, match="gone"):
        getattr(channel, name)(*([None] if name == "_receive_one" else []))
    assert counted == []


def test_the_usual_addresses_of_a_broker_use_the_checked_transports(monkeypatch):
    from kombu import Connection

    for scheme in ("redis", "rediss", "amqp", "pyamqp", "amqps"):
        monkeypatch.delitem(TRANSPORT_ALIASES, scheme, raising=False)
    install_transports()
    classes = {
        scheme: Connection(f"{scheme}://h//").get_transport_cls()
        for scheme in ("redis", "rediss", "amqp", "pyamqp", "amqps")
    }
    assert classes["redis"] is classes["rediss"] is workers.transports.RedisTransport
    assert classes["amqp"] is classes["pyamqp"] is workers.transports.RabbitTransport
    assert classes["amqps"] is workers.transports.RabbitTransportTLS and issubclass(
        classes["amqps"], pyamqp.SSLTransport
    )
    assert classes["redis"].Channel.Message is RedisMessage
    assert classes["amqp"].Connection.Channel.Message is RabbitMessage


def queued(content: Any = None, **changes: Any) -> Any:
    """Return a message with the calls that the worker makes on it."""
    message = SimpleNamespace(
        content_type="application/json",
        content_encoding="utf-8",
        body=body(JOB),
        headers=headers(),
        properties={"delivery_tag": 1, "other": 2},
        delivery_info={"routing_key": "llm"},
        confirmed=[],
    )
    message.ack_log_error = lambda *arguments: message.confirmed.append(arguments)
    for name, value in changes.items():
        setattr(message, name, value)
    return message


@pytest.fixture
def consumer(monkeypatch):
    """A worker's consumer that is not connected; `accepted` has what Celery would get."""
    accepted: list[Any] = []
    made = CheckingConsumer.__new__(CheckingConsumer)
    made.connection_errors, made.accepted = (OSError,), accepted

    def create_task_handler(self, promise=None):
        return lambda message: accepted.append(message) or promise

    monkeypatch.setattr(workers.validation.Consumer, "create_task_handler", create_task_handler)
    return made


def test_celery_gets_only_the_checked_parts_of_a_message(consumer, counted):
    message = queued()
    assert consumer.create_task_handler("first")(message) == "first"
    assert consumer.create_task_handler(promise="second")(message) == "second"
    assert consumer.accepted == [message, message] and message.properties == {"delivery_tag": 1}
    assert (counted, message.confirmed) == ([], [])


def test_a_message_of_somebody_else_is_confirmed_dropped_and_counted_with_a_description(consumer, counted):
    message = queued(body=b"secret", headers=headers("strange"))
    consumer.create_task_handler()(message)
    assert consumer.accepted == []
    assert message.confirmed == [(workers.validation.log, (OSError,))]
    assert counted == [("unknown Celery task", "queue llm, application/json, 6 bytes, task strange")]


def test_a_message_for_workers_with_a_gpu_is_not_accepted(consumer, counted, monkeypatch):
    left = []
    monkeypatch.setattr(workers.validation, "is_for_others", lambda message: True)
    monkeypatch.setattr(workers.validation, "leave_to_others", lambda *arguments: left.append(arguments))
    message = queued()
    consumer.create_task_handler()(message)
    assert left == [(consumer, message)] and (consumer.accepted, counted) == ([], [])


@pytest.mark.parametrize(
    ("error", "reason"), [(MalformedMessage("compressed"), "compressed"), (ValueError("x" * 99), "unreadable")]
)
def test_a_message_that_cannot_be_decoded_is_counted_by_its_problem(consumer, counted, error, reason):
    message = queued()
    consumer.on_decode_error(message, error)
    assert counted == [(reason, describe_message(message))] and len(message.confirmed) == 1


def test_a_description_shortens_what_a_stranger_wrote():
    message = queued(
        delivery_info={"routing_key": "q" * 99}, content_type="c" * 99, body="ab", headers={"task": "t" * 99}
    )
    assert describe_message(message) == f"queue {'q' * 20}, {'c' * 60}, 2 bytes, task {'t' * 60}"
    assert describe_message(queued(body=memoryview(b"abc"))).endswith("3 bytes, task evaluate")


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_waits_five_seconds_after_a_refusal_and_not_after_a_lost_connection(monkeypatch, consumer, when):
    clock, looks, passed = Clock(), [], []
    monkeypatch.setattr(workers.validation, "time", clock)
    monkeypatch.setattr(workers.validation, "maybe_shutdown", lambda: looks.append(clock.now))
    name = f"on_connection_error_{when}_connected"
    monkeypatch.setattr(workers.validation.Consumer, name, lambda self, error: passed.append(error))
    lost, refused = OSError("gone"), ResponseError(FULL)
    getattr(consumer, name)(lost)
    assert clock.now == 100.0 and looks == []
    getattr(consumer, name)(refused)
    assert 105.0 <= clock.now < 105.2 and len(looks) >= 50, "and it looks for the end of the worker"
    assert passed == [lost, refused]


def test_a_worker_that_shuts_down_does_not_wait_for_the_broker(monkeypatch):
    def shut_down() -> None:
        raise SystemExit

    clock = Clock()
    monkeypatch.setattr(workers.validation, "time", clock)
    monkeypatch.setattr(workers.validation, "maybe_shutdown", shut_down)
    with pytest.raises(SystemExit):
        workers.validation._wait_after_refusal(ResponseError(FULL))
    assert clock.now == 100.0


def test_a_rejection_names_its_reason():
    assert str(MessageRejected("forged")) == "forged"
