"""Celery's control commands. Every program that can write to the broker can send them, so only harmless ones work.

A worker answers the commands of a list, which only read. It refuses any other command, also those that a package adds
to Celery. The reply and the worker's log name the refused command, and it is counted as a refused message. As for other
messages (workers/validation.py), the size is checked first, and only JSON is decoded. A sender cannot choose a pattern,
the address of an exchange, or a logical time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery.app.utils import filter_hidden_settings
from celery.utils.serialization import jsonify
from celery.worker import control
from celery.worker.consumer.control import Control
from celery.worker.pidbox import Pidbox
from kombu.message import Message
from kombu.utils.encoding import safe_repr

from lumos_queue.util.secret_urls import hide_secrets
from workers.broker_refusals import find_refusal
from workers.rejection_counter import get_rejection_counter
from workers.validation import MessageRejected

log = logging.getLogger(__name__)
MAX_BODY_BYTES = 16_384  #: a command of Flower's has about 200, and 40 more for each worker that it names
MAX_NAME = 255  #: characters of a name at a broker
REFUSED = "control command"  #: the name of the count
#: Celery's reading commands, with the arguments that are passed to them. Other arguments are dropped: `registered`, for
#: example, would return any attribute of a task.
_CELERY_COMMANDS: dict[str, tuple[str, ...]] = {
    "active": ("safe",),
    "active_queues": (),
    "clock": (),
    "ping": (),
    "query_task": ("ids",),
    "registered": (),
    "reserved": (),
    "revoked": (),
    "scheduled": (),
}
#: Facts of the connection to the broker that `stats` returns; the others may contain passwords.
_BROKER_FACTS = ("hostname", "port", "transport", "virtual_host", "connect_timeout", "heartbeat")
_URLS = ("broker_url", "broker_read_url", "broker_write_url", "result_backend")


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A checked message: a command with its arguments, its destination (None: all workers), and its reply address."""

    command: str
    arguments: dict[str, Any]
    destination: list[str] | None
    reply_key: str  #: the routing key of the reply; '' when the sender expects no reply
    ticket: str


def check_control_message(message: Message, reply_exchange: str) -> ControlRequest:
    """Return the request of a message. Replies go to `reply_exchange` only. Raises MessageRejected."""
    body = message.body
    if message.content_type != "application/json" or message.content_encoding not in ("utf-8", "utf8"):
        raise MessageRejected("not JSON")
    if not isinstance(body, bytes | str | memoryview) or len(body) > MAX_BODY_BYTES:
        raise MessageRejected("too large")
    try:
        content = json.loads(bytes(body) if isinstance(body, memoryview) else body)
    except (ValueError, RecursionError):
        raise MessageRejected("unreadable body") from None
    if not isinstance(content, dict) or not isinstance(content.get("method"), str):
        raise MessageRejected("no control command")
    arguments, destination = content.get("arguments") or {}, content.get("destination")
    reply_to, ticket = content.get("reply_to") or {}, content.get("ticket") or ""
    if not isinstance(arguments, dict) or not (destination is None or isinstance(destination, list)):
        raise MessageRejected("wrong arguments")
    if content.get("pattern") or content.get("matcher"):
        raise MessageRejected("with options")
    if not isinstance(reply_to, dict) or not isinstance(ticket, str) or len(ticket) > MAX_NAME:
        raise MessageRejected("wrong reply address")
    reply_key = reply_to.get("routing_key", "")
    if reply_to and not (reply_to.get("exchange") == reply_exchange and isinstance(reply_key, str)):
        raise MessageRejected("wrong reply address")
    if len(reply_key) > MAX_NAME:
        raise MessageRejected("wrong reply address")
    return ControlRequest(content["method"], arguments, destination or None, reply_key, ticket)


def answer_control_request(request: ControlRequest, state: Any) -> object:
    """Return the reply to a request, or a refusal of its command. `state`: Celery passes it to commands."""
    if own_command := _OWN_COMMANDS.get(request.command):
        command, names = own_command, ()
    elif request.command in _CELERY_COMMANDS:
        command, names = control.Panel.data[request.command], _CELERY_COMMANDS[request.command]
    else:
        get_rejection_counter().add(REFUSED, f"{request.command}: workers only answer questions")
        return control.nok(
            f"refused: lumos workers take no control command '{request.command[:60]}'. To stop work, use lumos pause "
            "or lumos cancel; to change workers, start them with other options."
        )
    try:
        return command(state, **{name: request.arguments[name] for name in names if name in request.arguments})
    except Exception as error:  # of arguments that a stranger chose
        get_rejection_counter().add("wrong arguments", f"control command {request.command}: {type(error).__name__}")
        return control.nok(f"{request.command} failed: {type(error).__name__}")


def _read_stats(state: Any) -> dict[str, Any]:
    """Answer the command `stats` as Celery does, but without values that may be secret."""
    stats = state.consumer.controller.stats()
    for part in (stats, stats.get("consumer")):
        if isinstance(part, dict) and isinstance(broker := part.get("broker"), dict):
            part["broker"] = {name: broker[name] for name in _BROKER_FACTS if name in broker}
    return stats


def _read_conf(state: Any) -> object:
    """Answer the command `conf` with Celery's configuration, without values that may be secret."""
    table = state.app.conf.table(with_defaults=False, censored=False)
    urls = {name: hide_secrets(str(value)) for name in _URLS if (value := table.pop(name, None))}
    settings = filter_hidden_settings(table) | urls
    return jsonify(settings, keyfilter=lambda key: isinstance(key, str), unknown_type_filter=safe_repr)


def _enable_events(state: Any) -> dict[str, str]:
    """Answer the command, which Flower sends every few seconds. It changes nothing: workers always send events."""
    return control.ok("task events already enabled")


_OWN_COMMANDS: dict[str, Callable[[Any], object]] = {
    "conf": _read_conf,
    "enable_events": _enable_events,
    "stats": _read_stats,
}
READING_COMMANDS = tuple(sorted([*_CELERY_COMMANDS, *_OWN_COMMANDS]))


class CheckedPidbox(Pidbox):
    """Celery's mailbox of a worker, changed so that it answers only checked messages with commands that read."""

    def start(self, c: Any) -> None:
        self.node.channel = c.connection.channel()
        self.consumer = self.node.Consumer(on_message=self.on_control_message, on_decode_error=c.on_decode_error)
        self.consumer.consume()

    def on_control_message(self, message: Message) -> None:
        """Answer a message from the broker."""
        try:
            request = check_control_message(message, self.node.mailbox.reply_exchange.name)
        except MessageRejected as rejection:
            get_rejection_counter().add(str(rejection), "a control message")
            return
        if request.destination is not None and self.node.hostname not in request.destination:
            return
        self._forward_clock()
        reply = answer_control_request(request, self.node.state)
        if request.reply_key:
            self._send(reply, request)

    def _send(self, reply: object, request: ControlRequest) -> None:
        try:
            exchange = self.node.mailbox.reply_exchange.name
            self.node.reply({self.node.hostname: reply}, exchange, request.reply_key, request.ticket)
        except Exception as error:  # each transport has its own errors
            log.warning("a reply was not sent: %r", error)
            if not find_refusal(error):
                self.reset()


class CheckedControl(Control):
    """Celery's step that listens for control commands, with a mailbox that checks them."""

    def __init__(self, c: Any, **options: Any):
        super().__init__(c, **options)
        self.box = CheckedPidbox(c)
        # Celery calls these attributes, which its own step sets, too.
        for name in ("start", "stop", "shutdown"):
            setattr(self, name, getattr(self.box, name))
