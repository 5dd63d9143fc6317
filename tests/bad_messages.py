"""Messages that every worker must refuse, each with the reason; and functions to publish them."""

from __future__ import annotations

import gzip
import json
import pickle
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kombu import Connection
from sqlalchemy import select

from db.engine.connection import Database
from db.models import RefusedMessage

NOTHING = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


@dataclass
class Bad:
    """A message as an attacker would publish it."""

    reason: str
    body: bytes
    headers: dict[str, Any] = field(default_factory=lambda: headers())
    content_type: str = "application/json"
    content_encoding: str = "utf-8"


def headers(task: Any = "evaluate", **extra_headers: Any) -> dict[str, Any]:
    return {"lang": "py", "task": task, "id": str(uuid.uuid4()), **extra_headers}


def body(*arguments: Any, keywords: Any = None, **embed_options: Any) -> bytes:
    return json.dumps([arguments, keywords or {}, {**NOTHING, **embed_options}]).encode()


class _Touch:
    """An object that creates a file when it is unpickled."""

    def __init__(self, trace: Path):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def bad_messages(trace: Path) -> Iterator[Bad]:
    """Return all messages; executing the code of one creates a file at `trace`."""
    harmful = pickle.dumps(_Touch(trace))
    yaml = f"!!python/object/apply:os.system ['touch {trace}']".encode()
    yield Bad("not JSON", harmful, content_type="application/x-python-serialize", content_encoding="binary")
    yield Bad("not JSON", harmful, {}, content_type="application/x-python-serialize", content_encoding="binary")
    yield Bad("not JSON", yaml, content_type="application/x-yaml")
    yield Bad("not JSON", b"x", content_type="text/plain")
    yield Bad("not JSON", body("zzzzzzzz"), content_encoding="utf-16")
    yield Bad("too large", body("z" * 5_000))
    yield Bad("too large", b"[" * 3_000_000)
    yield Bad("compressed", gzip.compress(body("z" * 50_000_000), 1), headers(compression="application/x-gzip"))
    yield Bad("no Celery task", body("zzzzzzzz"), {})
    yield Bad("no Celery task", b'{"task": "evaluate", "args": ["zzzzzzzz"], "kwargs": {}, "id": "1"}', {})
    for task in ("no_such_task", "celery.backend_cleanup", "", 7, ["evaluate"], None):
        yield Bad("unknown Celery task", body("zzzzzzzz"), headers(task))
    yield Bad("no message id", body("zzzzzzzz"), {**headers(), "id": "x" * 200})
    yield Bad("with options", body("zzzzzzzz"), headers(eta="2999-01-01T00:00:00"))
    yield Bad("with options", body("zzzzzzzz"), headers(timelimit=[1, 1]))
    yield Bad("with options", body("zzzzzzzz", callbacks=[{"task": "evaluate", "args": ["zzzzzzzz"]}]))
    yield Bad("unreadable body", b"[[")
    yield Bad("unreadable body", b"\xff\xfe")
    yield Bad("unreadable body", b"[" * 2000)
    for arguments in ((), (7,), (None,), (["zzzzzzzz"],), ({"a": 1},), ("zzzzzzzz", "zzzzzzzz")):
        yield Bad("wrong arguments", body(*arguments))
    yield Bad("wrong arguments", body(keywords={"job": "zzzzzzzz"}))
    yield Bad("wrong arguments", b"7")
    yield Bad("wrong arguments", b'{"args": ["zzzzzzzz"]}')
    for job in ("zzzzzzzz", "' OR 1=1 --", "", "%", "../../x", "zzzzzzzz\n", "\u0000"):
        yield Bad("forged", body(job))


#: Elements of a Redis list that are no messages at all.
BAD_ENVELOPES = (
    b"",
    b"not JSON",
    b"\xff\xfe",
    b"[1]",
    b"7",
    b"null",
    b"[" * 100_000,
    b'{"body": 5}',
    b'{"properties": {}}',
    b'{"body": "", "properties": {"delivery_tag": {"a": 1}, "delivery_info": {"exchange": "", "routing_key": ""}}}',
    b'{"body": "", "properties": {"delivery_tag": "1", "delivery_info": {"exchange": "", "routing_key": 7}}}',
    b'{"body": "!", "headers": [1], "properties": {"delivery_tag": "1", "delivery_info": '
    b'{"exchange": "", "routing_key": ""}}}',
    b'{"body": "x", "properties": {"delivery_tag": "1", "body_encoding": "base64", "delivery_info": '
    b'{"exchange": "", "routing_key": "llm"}}}',
    b'{"__type__": "datetime", "__value__": "x"}',
)


def publish(url: str, messages: list[Bad], queue: str) -> None:
    with Connection(url, transport_options={}) as connection, connection.Producer() as producer:
        for bad in messages:
            producer.publish(
                bad.body,
                routing_key=queue,
                exchange="",
                headers=bad.headers,
                content_type=bad.content_type,
                content_encoding=bad.content_encoding,
            )


def count_refusals(database: Database) -> dict[str, int]:
    """Return the number of refused messages in the database, by reason."""
    with database.engine.connect() as connection:
        rows = connection.execute(select(RefusedMessage.reason, RefusedMessage.messages))
        return {reason: messages for reason, messages in rows}
