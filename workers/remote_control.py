"""Celery's control commands. Every program that can write to the broker can send them, so only harmless ones work.

A worker answers the commands of a list, which only read. It refuses any other command, also those that a package adds
to Celery. The reply and the worker's log name the refused command, and it is counted as a refused message. As for other
messages (workers/validation.py), the size is checked first, and only JSON is decoded. A sender cannot choose a pattern,
the address of an exchange, or a logical time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from celery import Celery
from celery.app.utils import filter_hidden_settings
from celery.utils.serialization import jsonify
from celery.worker import control
from celery.worker.consumer import Consumer
from celery.worker.consumer.control import Control
from celery.worker.pidbox import Pidbox
from kombu.message import Message
from kombu.utils.encoding import safe_repr

from db.engine.json_columns import is_list, is_object
from lumos_queue.util.secret_urls import hide_secrets
from workers.broker_refusals import find_refusal
from workers.received_messages import MessageRejected, ReceivedMessage, check_form, decode_body
from workers.rejection_counter import get_rejection_counter

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


class WorkerState(Protocol):
    """The object that Celery passes to a control command."""

    @property
    def app(self) -> Celery: ...

    @property
    def consumer(self) -> Consumer: ...


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A checked message: a command with its arguments, its destination (None: all workers), and its reply address."""

    command: str
    arguments: dict[str, object]
    destination: list[object] | None
    reply_key: str  #: the routing key of the reply; '' when the sender expects no reply
    ticket: str


def check_control_message(message: ReceivedMessage, reply_exchange: str) -> ControlRequest:
    """Return the request of a message. Replies go to `reply_exchange` only. Raises MessageRejected."""
    content = decode_body(check_form(message, MAX_BODY_BYTES))
    if not is_object(content) or not isinstance(command := content.get("method"), str):
        raise MessageRejected("no control command")
    arguments, destination = content.get("arguments") or dict[str, object](), content.get("destination")
    if not is_object(arguments) or not (destination is None or is_list(destination)):
        raise MessageRejected("wrong arguments")
    if content.get("pattern") or content.get("matcher"):
        raise MessageRejected("with options")
    reply_key = _read_reply_key(content.get("reply_to"), reply_exchange)
    if not _is_name(ticket := content.get("ticket") or ""):
        raise MessageRejected("wrong reply address")
    return ControlRequest(command, arguments, destination or None, reply_key, ticket)


def _read_reply_key(address: object, reply_exchange: str) -> str:
    """Return the routing key of a reply address, '' if it is empty. Raises MessageRejected for another exchange."""
    if not address:
        return ""
    if not is_object(address) or address.get("exchange") != reply_exchange:
        raise MessageRejected("wrong reply address")
    reply_key = address.get("routing_key", "")
    if not _is_name(reply_key):
        raise MessageRejected("wrong reply address")
    return reply_key


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= MAX_NAME


def answer_control_request(request: ControlRequest, state: WorkerState) -> object:
    """Return the reply to a request, or a refusal of its command. `state`: Celery passes it to commands."""
    command: Callable[..., object]
    names: tuple[str, ...]
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


def _read_stats(state: WorkerState) -> dict[str, object]:
    """Answer the command `stats` as Celery does, but without values that may be secret."""
    stats = state.consumer.controller.stats()
    for part in (stats, stats.get("consumer")):
        if is_object(part) and is_object(broker := part.get("broker")):
            part["broker"] = {name: broker[name] for name in _BROKER_FACTS if name in broker}
    return stats


def _read_conf(state: WorkerState) -> object:
    """Answer the command `conf` with Celery's configuration, without values that may be secret."""
    table = state.app.conf.table(with_defaults=False, censored=False)
    urls = {name: hide_secrets(str(value)) for name in _URLS if (value := table.pop(name, None))}
    settings = filter_hidden_settings(table) | urls
    return jsonify(settings, keyfilter=lambda key: isinstance(key, str), unknown_type_filter=safe_repr)


def _enable_events(state: WorkerState) -> dict[str, object]:
    """Answer the command, which Flower sends every few seconds. It changes nothing: workers always send events."""
    return control.ok("task events already enabled")


_OWN_COMMANDS: dict[str, Callable[[WorkerState], object]] = {
    "conf": _read_conf,
    "enable_events": _enable_events,
    "stats": _read_stats,
}
READING_COMMANDS = tuple(sorted([*_CELERY_COMMANDS, *_OWN_COMMANDS]))


class CheckedPidbox(Pidbox):
    """Celery's mailbox of a worker, changed so that it answers only checked messages with commands that read."""

    def start(self, c: Consumer) -> None:
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

    def __init__(self, c: Consumer, **options: object):
        super().__init__(c, **options)
        self.box = CheckedPidbox(c)
        # Celery calls these attributes, which its own step sets, too.
        for name in ("start", "stop", "shutdown"):
            setattr(self, name, getattr(self.box, name))
