"""Check each message before Celery decodes it, because every program with access to the broker can write messages.

Celery's parent process does this. It rebuilds a valid message from the checked parts, for a child process. Other
messages are acknowledged, dropped and counted. Only JSON is decoded, after a check of its size.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from kombu.message import Message

from workers.app import CELERY_TASKS
from workers.broker_refusals import WAIT_SECONDS, find_refusal, quiet_logs
from workers.queues import is_for_others, leave_to_others
from workers.rejection_counter import get_rejection_counter
from workers.transports import MalformedMessage

log = logging.getLogger(__name__)
MAX_BODY_BYTES = 2048  #: a message of ours has about 90
JOB_ID = re.compile(r"[2-9a-hj-km-np-z]{8}")
_MESSAGE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TASKS = frozenset(CELERY_TASKS.values())
#: Celery's options of a message, which this project never sends: another time, a limit, other work before or after.
_OPTIONS = ("eta", "expires", "group", "replaced_task_nesting", "stamps", "stamped_headers")
_NO_LIMITS = (None, [None, None], (None, None))
#: Properties that the transport needs to confirm a message.
_OF_TRANSPORT = ("delivery_tag", "delivery_info", "body_encoding")
#: Celery's step that listens for control commands, and its replacement.
_CONTROL_STEPS = {"celery.worker.consumer.control:Control": "workers.remote_control:CheckedControl"}
_NOTHING_ELSE = dict.fromkeys(("callbacks", "errbacks", "chain", "chord"))


class MessageRejected(Exception):
    """Raised for a message that lumos-queue has not sent. The text is the reason, and the name of a count."""


def check_message(message: Message) -> str:
    """Check a message; return the id of the job that it names. Raises MessageRejected if the message is not valid."""
    headers, body = message.headers, message.body
    if message.content_type != "application/json" or message.content_encoding not in ("utf-8", "utf8"):
        raise MessageRejected("not JSON")
    if not isinstance(body, bytes | str | memoryview) or len(body) > MAX_BODY_BYTES:
        raise MessageRejected("too large")
    if not isinstance(headers, dict) or "task" not in headers:
        raise MessageRejected("no Celery task")
    if not isinstance(headers["task"], str) or headers["task"] not in _TASKS:
        raise MessageRejected("unknown Celery task")
    identifier = headers.get("id")
    if not isinstance(identifier, str) or not _MESSAGE_ID.fullmatch(identifier):
        raise MessageRejected("no message id")
    if any(headers.get(name) for name in _OPTIONS) or headers.get("timelimit") not in _NO_LIMITS:
        raise MessageRejected("with options")
    try:
        content = json.loads(bytes(body) if isinstance(body, memoryview) else body)
    except (ValueError, RecursionError):
        raise MessageRejected("unreadable body") from None
    match content:
        case [[str(job)], {**keywords}, {**embedded}] if not keywords:
            if any(embedded.values()):
                raise MessageRejected("with options")
        case _:
            raise MessageRejected("wrong arguments")
    if not JOB_ID.fullmatch(job):
        raise MessageRejected("forged")
    return job


def describe_message(message: Message) -> str:
    """Describe a rejected message for a person, without its body."""
    headers = message.headers if isinstance(message.headers, dict) else {}
    size = len(message.body) if isinstance(message.body, bytes | str | memoryview) else 0
    queue = (message.delivery_info or {}).get("routing_key", "")
    return f"queue {queue!s:.20}, {message.content_type!s:.60}, {size} bytes, task {headers.get('task')!s:.60}"


class CheckingConsumer(Consumer):
    """Celery's consumer, changed so that it passes on checked messages only.

    Workers never synchronise with each other (Celery's gossip and mingle), even if the command line asks for this.
    Otherwise anyone with access to the broker could pose as a worker, and make workers ignore messages.
    """

    class Blueprint(Consumer.Blueprint):
        default_steps: ClassVar = [_CONTROL_STEPS.get(step, step) for step in Consumer.Blueprint.default_steps]

    def __init__(self, *arguments: Any, worker_options: dict[str, Any] | None = None, **options: Any):
        alone = {**(worker_options or {}), "without_gossip": True, "without_mingle": True}
        super().__init__(*arguments, worker_options=alone, **options)
        quiet_logs()

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        super().on_connection_error_before_connected(exc)
        _wait_after_refusal(exc)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        super().on_connection_error_after_connected(exc)
        _wait_after_refusal(exc)

    def create_task_handler(self, *arguments: Any, **options: Any) -> Callable[..., None]:
        accept = super().create_task_handler(*arguments, **options)

        def on_message(message: Message) -> None:
            try:
                job = check_message(message)
            except MessageRejected as rejection:
                return self._drop(message, str(rejection))
            if is_for_others(message):
                return leave_to_others(self, message)
            _rebuild(message, job)
            return accept(message)

        return on_message

    def on_decode_error(self, message: Message, exc: Exception) -> None:
        self._drop(message, str(exc) if isinstance(exc, MalformedMessage) else "unreadable")

    def _drop(self, message: Message, reason: str) -> None:
        message.ack_log_error(log, self.connection_errors)
        get_rejection_counter().add(reason, describe_message(message))


def _wait_after_refusal(error: Exception) -> None:
    """Wait before the next connection to a broker that has refused. The wait ends when the worker shuts down."""
    until = time.monotonic() + WAIT_SECONDS * bool(find_refusal(error))
    while time.monotonic() < until:
        maybe_shutdown()
        time.sleep(0.1)


def _rebuild(message: Message, job: str) -> None:
    """Keep only the checked parts of the message, because Celery and its children read all headers."""
    headers = message.headers
    message.headers = {
        "lang": "py",
        "task": headers["task"],
        "id": headers["id"],
        "root_id": headers["id"],
        "parent_id": None,
        "group": None,
        "retries": 0,
        "timelimit": [None, None],
        "argsrepr": repr([job]),
        "kwargsrepr": "{}",
        "origin": str(headers.get("origin"))[:80],
        "ignore_result": True,
    }
    message.properties = {name: value for name, value in message.properties.items() if name in _OF_TRANSPORT}
    message.body = json.dumps([[job], {}, _NOTHING_ELSE]).encode()
