"""A fake model server in a process of its own: fixed latency, a number of slots, a queue in front of them.

It speaks text-generation-inference (/generate) and the OpenAI protocol (/v1/completions, /v1/chat/completions), answers
as performance/questions.py says, and does as little as it can, so that it is not what is measured. All calls take the
same time, so they end in the order in which they began: one timer serves them all.

    python -m performance.server LATENCY SLOTS      prints its port
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from performance.questions import amounts_in, grounder_reply, planner_reply

INFO = {"model_id": "additions", "model_sha": "0" * 40, "version": "3.3.0", "max_total_tokens": 4096}
MODELS = {"object": "list", "data": [{"id": "additions", "object": "model", "owned_by": "vllm"}]}


class Endpoint:
    """Slots, the calls in them, the calls that wait, and counts."""

    def __init__(self, latency: float, slots: int):
        self.latency, self.slots = latency, slots
        self.loop = asyncio.get_running_loop()
        self.running: deque[tuple[float, Connection, bytes]] = deque()
        self.waiting: deque[tuple[Connection, bytes]] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.reset()

    def reset(self) -> None:
        self.calls = self.most_running = self.most_waiting = 0
        self.first_info_at = self.first_call_at = self.last_reply_at = 0.0

    def stats(self) -> dict[str, float]:
        names = ("calls", "most_running", "most_waiting", "first_info_at", "first_call_at", "last_reply_at")
        return {name: getattr(self, name) for name in names}

    def asked(self, connection: Connection, reply: bytes) -> None:
        self.calls += 1
        self.first_call_at = self.first_call_at or time.time()
        if len(self.running) < self.slots:
            self.begin(connection, reply)
        else:
            self.waiting.append((connection, reply))
            self.most_waiting = max(self.most_waiting, len(self.waiting))

    def begin(self, connection: Connection, reply: bytes) -> None:
        due = self.loop.time() + self.latency
        self.running.append((due, connection, reply))
        self.most_running = max(self.most_running, len(self.running))
        if self.timer is None:
            self.timer = self.loop.call_at(due, self.end)

    def end(self) -> None:
        now = self.loop.time()
        while self.running and self.running[0][0] <= now:
            _, connection, reply = self.running.popleft()
            connection.send(reply)
            if self.waiting:
                self.begin(*self.waiting.popleft())
        self.last_reply_at = time.time()
        self.timer = self.loop.call_at(self.running[0][0], self.end) if self.running else None


class Connection(asyncio.Protocol):
    """One client: one request at a time, kept alive."""

    def __init__(self, endpoint: Endpoint):
        self.endpoint, self.buffer = endpoint, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, reply: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(reply)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end]
        position = head.lower().find(b"content-length:")
        length = int(head[position + 15 :].split(b"\r\n", 1)[0]) if position >= 0 else 0
        if len(self.buffer) < end + 4 + length:
            return
        body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
        path = head.split(b" ", 2)[1]
        if head.startswith(b"POST"):
            self.endpoint.asked(self, answer(path, body))
        else:
            self.look(path)

    def look(self, path: bytes) -> None:
        if path == b"/info":
            self.endpoint.first_info_at = self.endpoint.first_info_at or time.time()
            self.send(_http(INFO))
        elif path == b"/v1/models":
            self.send(_http(MODELS))
        elif path == b"/reset":
            self.endpoint.reset()
            self.send(_http({}))
        else:
            self.send(_http(self.endpoint.stats()))


def answer(path: bytes, body: bytes) -> bytes:
    """The whole reply to a request. What it says follows from the prompt and the number of turns in it."""
    chat = path.startswith(b"/v1/chat")
    if chat:
        messages = json.loads(body)["messages"]
        text, turn = messages[0]["content"].encode(), sum(message["role"] == "user" for message in messages)
    else:
        text, turn = body, body.count(b"<|assistant|>")
    grounds = b"Please ground" in text[:100]
    if b"You grade" in text[:200]:  # the prompt of a judge (benchmarks/from_file/rubrics.py)
        reply = "Grade: 1"
    else:
        reply = (grounder_reply if grounds else planner_reply)(amounts_in(text), turn)
    if path == b"/generate":
        return _http({"generated_text": reply, "details": {"finish_reason": "eos_token", "generated_tokens": 20}})
    usage = {"prompt_tokens": 200, "completion_tokens": 20, "total_tokens": 220}
    content = {"message": {"role": "assistant", "content": reply}} if chat else {"text": reply}
    kind = "chat.completion" if chat else "text_completion"
    choices = [{"index": 0, "finish_reason": "stop", **content}]
    return _http({"id": "1", "object": kind, "created": 1, "model": "additions", "choices": choices, "usage": usage})


def _http(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def _serve(latency: float, slots: int) -> None:
    endpoint = Endpoint(latency, slots)
    server = await endpoint.loop.create_server(lambda: Connection(endpoint), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def start_server(latency: float, slots: int) -> Iterator[str]:
    """The address, http://…, of a server that lives as long as the context."""
    from lumos_queue.util.process import die_with_parent  # here, because `ref` imports this file and should stay bare

    command = [sys.executable, "-m", "performance.server", str(latency), str(slots)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def ask(url: str, path: str) -> dict[str, float]:
    """`/stats` says what was counted since `/reset`."""
    with urllib.request.urlopen(url + path, timeout=10) as reply:
        return json.load(reply)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1]), int(sys.argv[2])))
