"""A fake endpoint that kills each process that asks it about the poisoned task.

    python -m tests.faults.poisonous --replies FILE.json --log FILE.jsonl --latency 0.1

A prompt whose reply is KILL is the poison.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

import psutil

from tests import fake_endpoint

KILL = "kill"


class Poisonous(fake_endpoint.FakeEndpoint):
    """A fake endpoint that kills the client of a poisoned prompt."""

    def answer(self, path: str, raw: bytes, head: bytes, send: Any, cut: Any) -> None:
        def send_or_kill(status: int, body: bytes, *rest: Any, **options: Any) -> None:
            if b'"generated_text": "' + KILL.encode() + b'"' in body:
                kill_client(send.__self__.transport.get_extra_info("peername")[1])
            else:
                send(status, body, *rest, **options)

        super().answer(path, raw, head, send_or_kill, cut)


def kill_client(port: int) -> None:
    """Kill the process on this machine whose connection comes from `port`."""
    for connection in psutil.net_connections("tcp"):
        if connection.laddr and connection.laddr.port == port and connection.pid not in (None, os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(connection.pid, signal.SIGKILL)


if __name__ == "__main__":
    fake_endpoint.FakeEndpoint = Poisonous
    fake_endpoint.main()
