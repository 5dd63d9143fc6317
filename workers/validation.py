"""Check each message before Celery decodes it, because every program with access to the broker can write messages.

Celery's parent process does this. It rebuilds a valid message from the checked parts, for a child process. Other
messages are acknowledged, dropped and counted. Only JSON is decoded, after a check of its size.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

import vine
from celery.worker.consumer import Consumer
from celery.worker.request import Request
from celery.worker.state import maybe_shutdown
from kombu.message import Message

from db.engine.json_columns import is_list, is_object
from lumos_queue.util.wording import format_bytes
from workers.app import CELERY_TASKS
from workers.broker_refusals import WAIT_SECONDS, find_refusal, quiet_logs
from workers.queues import is_for_others, leave_to_others
from workers.received_messages import MessageRejected, ReceivedMessage, check_form, decode_body, is_body
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


def check_message(message: ReceivedMessage) -> str:
    """Check a message; return the id of the job that it names. Raises MessageRejected if the message is not valid."""
    body, headers = check_form(message, MAX_BODY_BYTES), message.headers
    if not is_object(headers) or "task" not in headers:
        raise MessageRejected("no Celery task")
    if not isinstance(headers["task"], str) or headers["task"] not in _TASKS:
        raise MessageRejected("unknown Celery task")
    identifier = headers.get("id")
    if not isinstance(identifier, str) or not _MESSAGE_ID.fullmatch(identifier):
        raise MessageRejected("no message id")
    if any(headers.get(name) for name in _OPTIONS) or headers.get("timelimit") not in _NO_LIMITS:
        raise MessageRejected("with options")
    job = _read_argument(decode_body(body))
    if not JOB_ID.fullmatch(job):
        raise MessageRejected("forged")
    return job


def _read_argument(content: object) -> str:
    """Return the only argument of a task, from a decoded body. Raises MessageRejected for a body of another form."""
    if not is_list(content) or len(content) != 3:
        raise MessageRejected("wrong arguments")
    arguments, keywords, embedded = content
    if not is_list(arguments) or len(arguments) != 1 or not isinstance(arguments[0], str):
        raise MessageRejected("wrong arguments")
    if not is_object(keywords) or keywords or not is_object(embedded):
        raise MessageRejected("wrong arguments")
    if any(embedded.values()):
        raise MessageRejected("with options")
    return arguments[0]


def describe_message(message: ReceivedMessage) -> str:
    """Describe a rejected message for a person, without its body."""
    headers, body = message.headers, message.body
    task = headers.get("task") if is_object(headers) else None
    size = len(body) if is_body(body) else 0
    queue = (message.delivery_info or {}).get("routing_key", "")
    return f"queue {queue!s:.20}, {message.content_type!s:.60}, {format_bytes(size)}, task {task!s:.60}"


class CheckingConsumer(Consumer):
    """Celery's consumer, changed so that it passes on checked messages only.

    Workers never synchronise with each other (Celery's gossip and mingle), even if the command line asks for this.
    Otherwise anyone with access to the broker could pose as a worker, and make workers ignore messages.
    """

    class Blueprint(Consumer.Blueprint):
        default_steps: ClassVar[list[str]] = [
            _CONTROL_STEPS.get(step, step) for step in Consumer.Blueprint.default_steps
        ]

    def __init__(
        self,
        on_task_request: Callable[[Request], object],
        *,
        worker_options: Mapping[str, object] | None = None,
        **options: object,
    ):
        alone = {**(worker_options or {}), "without_gossip": True, "without_mingle": True}
        super().__init__(on_task_request, worker_options=alone, **options)
        quiet_logs()

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        super().on_connection_error_before_connected(exc)
        _wait_after_refusal(exc)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        super().on_connection_error_after_connected(exc)
        _wait_after_refusal(exc)

    def create_task_handler(self, promise: type[vine.promise] = vine.promise) -> Callable[[Message], None]:
        accept = super().create_task_handler(promise)

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
