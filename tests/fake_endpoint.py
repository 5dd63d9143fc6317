"""A fake model server that speaks three protocols, fast enough to measure clients with.

It answers from a function of the prompt, in FIFO slots of fixed latency, and logs each call when it arrives, so
that the count is right even if the client is killed. Failures can be scripted, one for each call in order:

    ok            the normal reply                      429:2         status 429 with `Retry-After: 2` (any status)
    hang          never a reply                         slow:1.5      the normal reply, 1.5 s later
    301:URL       any redirect to there
    truncated     half a body, then the end             reset         the connection is cut without a reply
    garbage       a body that is no JSON                nested        JSON too deep to read
    array         JSON, but no object                   wrong         an object without the text
    empty         the reply ''                          huge          9 MB of reply
    lying         the normal text, with another absurd number about it each time
    tokens:9      the normal reply, of 9 tokens as it says (any JSON)
    finish:abort  the normal reply, with another finish_reason

The handling of calls beyond the script can be changed while the server runs (every field is optional):

    POST /control  {"mode": "ok" or any kind above, "latency": seconds of each reply,
                    "limit": calls in flight above which it answers 429 (null: none),
                    "drag": seconds each reply takes longer for each call in flight}

In a test:                  with FakeEndpoint(lambda prompt: "Subgoal 1: …", latency=0.05) as server: server.tgi
As a separate process:      python -m tests.fake_endpoint --latency 0.05 --slots 64 --replies FILE.json --log FILE.jsonl
                            (its first line of output is `listening on PORT`; GET /calls, /state: the requests)
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib
import json
import os
import re
import threading
import time
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

MAX_TOKENS = ("max_tokens", "max_completion_tokens")  #: names of the limit of tokens in the OpenAI protocol
Reply = Callable[[str], str | int | tuple[int, bytes] | None]


def digest(prompt: str) -> str:
    """The name of a prompt in logs and in files of replies."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def from_mapping(replies: Mapping[str, str | int], default: str | None = None) -> Reply:
    """Replies, or statuses, by the sha256 of the prompt."""
    return lambda prompt: replies.get(digest(prompt), default)


class FakeEndpoint:
    """The server, in its own thread during the `with` block.

    If the reply to a prompt is None, the status is 422; a number is a status; a pair is a status and a body.
    """

    def __init__(
        self,
        reply: Reply,
        *,
        latency: float = 0.0,
        slots: int = 64,
        failures: Iterable[str] = (),
        model: str = "fake",
        models: list[str] | None = None,
        log: Path | None = None,
        port: int = 0,
        keep_bodies: bool = False,
        mode: str = "ok",
        limit: int | None = None,
        drag: float = 0.0,
        owner: str = "vllm",
        health: int | None = 200,
        loading: bool = False,
        stated_slots: int | None = None,
        most_requests: int | None = None,
    ):
        self.health = health  #: status of GET /health; None: no answer
        self.loading = loading  #: whether it answers 503 to everything, as llama.cpp does until its model is there
        self.stated_slots, self.most_requests = stated_slots, most_requests  #: as llama.cpp and TGI state them
        self.mode, self.limit, self.drag = mode, limit, drag  # may be changed while it runs, as may latency
        self.reply, self.latency, self.model, self.owner = reply, latency, model, owner
        self.models = [model] if models is None else models
        self.failures = deque(failures)
        self.port = port
        #: The sha256 of the prompt, as much of it as a database keeps, and the time of arrival (Unix seconds).
        self.calls: list[dict] = []
        self.bodies: list[dict] = []  #: bodies of the requests, with `keep_bodies`
        self.headers: list[bytes] = []  #: heads of the requests, with `keep_bodies`
        self.most_busy = 0  #: maximum of slots in use at the same time
        self._keep_bodies = keep_bodies
        self._slots, self._busy = slots, 0
        self._queue: deque[Callable[[], None]] = deque()
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.connections: set[_Connection] = set()

    @property
    def tgi(self) -> str:
        return f"tgi://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        return f"openai://127.0.0.1:{self.port}?model={self.model}"

    @property
    def chat(self) -> str:
        return f"chat://127.0.0.1:{self.port}?model={self.model}"

    @property
    def count(self) -> int:
        return len(self.calls)

    @property
    def in_flight(self) -> int:
        """Count the calls without an answer so far: in a slot, or waiting for a slot."""
        return self._busy + len(self._queue)

    def control(self, wish: Mapping[str, object]) -> tuple[int, object]:
        """The reply to POST /control."""
        if unknown := wish.keys() - {"mode", "latency", "limit", "drag"}:
            return 400, {"error": f"no such field: {min(unknown)}"}
        for name, value in wish.items():
            setattr(self, name, value)
        return self.about("/state")

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)
        if self._log is not None:
            os.close(self._log)

    def __enter__(self) -> FakeEndpoint:
        ready, self._end_event = threading.Event(), None

        async def serve() -> None:
            self._end_event = asyncio.Event()
            await self.start()
            ready.set()
            await self._end_event.wait()
            await self.stop()

        self._thread = threading.Thread(target=asyncio.run, args=(serve(),), name="fake endpoint")
        self._thread.start()
        if not ready.wait(10):
            raise RuntimeError("the fake endpoint did not start")
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._end_event.set)
        self._thread.join()

    def answer(self, path: str, raw: bytes, head: bytes, send: Callable[..., None], cut: Callable[[], None]) -> None:
        """Take one POST request. `send(status, body, headers)` replies, now or later; `cut` ends the connection."""
        body = json.loads(raw)
        if path == "/control":
            status, value = self.control(body)
            return send(status, json.dumps(value).encode())
        prompt = _prompt(path, body)
        kind, _, detail = (self.failures.popleft() if self.failures else self.mode).partition(":")
        if self.limit is not None and self.in_flight >= self.limit:
            kind, detail = "429", ""
        if self.loading:
            kind, detail = "503", ""
        call = {"sha256": digest(prompt)[:32], "time": time.time()}
        if kind.isdigit():
            call["status"] = int(kind)
        self.calls.append(call)
        if self._log is not None:
            os.write(self._log, json.dumps(call).encode() + b"\n")
        if self._keep_bodies:
            self.bodies.append(body)
            self.headers.append(head)
        if kind.isdigit():
            name = "Location" if kind.startswith("3") else "Retry-After"
            return send(int(kind), _FAILURE, f"{name}: {detail}\r\n" if detail else "")
        if kind == "hang":
            return None
        if kind == "reset":
            return cut()
        if kind in _BODIES:
            return send(200, _BODIES[kind])
        text = "" if kind == "empty" else self.reply(prompt)
        if text is None and "1 + 1 =" in prompt:
            text = " 2"  # a control: any model has a reply to that
        if text is None:
            return send(422, b'{"error": "no reply is written down for this prompt"}')
        if not isinstance(text, str):
            status, error_text = text if isinstance(text, tuple) else (text, _FAILURE)
            return send(status, error_text)
        reply, headers = _reply(path, body, prompt, text)
        queue_lie = ""
        if kind == "lying":
            reply, headers, queue_lie = _lie(reply, self.count)
        if kind == "tokens":
            reply, detail = re.sub(rb'(?<=(?:generated|ompletion)_tokens": )\d+', detail.encode(), reply), ""
        if kind == "finish":
            reply, detail = re.sub(rb'("finish_reason": )"\w+"', rb'\1"%s"' % detail.encode(), reply), ""
        if kind == "truncated":
            return send(200, reply, headers, truncated=True)
        seconds = self.latency + float(detail or 0) + self.drag * (self.in_flight + 1)
        return self._in_slot(
            seconds, lambda queue_seconds: send(200, reply, f"{headers}x-queue-time: {queue_lie or queue_seconds}\r\n")
        )

    def _in_slot(self, seconds: float, send: Callable[[int], None]) -> None:
        """Call `send` after `seconds` in a slot, with the milliseconds that the call waited for the slot."""
        arrival = self._loop.time()
        queue_seconds = 0

        def end() -> None:
            self._busy -= 1
            send(queue_seconds)
            if self._queue:
                self._queue.popleft()()

        def begin() -> None:
            nonlocal queue_seconds
            queue_seconds = int((self._loop.time() - arrival) * 1000)
            self._busy += 1
            self.most_busy = max(self.most_busy, self._busy)
            if seconds:
                self._loop.call_later(seconds, end)
            else:
                end()

        if self._busy < self._slots:
            begin()
        else:
            self._queue.append(begin)

    def about(self, path: str) -> tuple[int, object]:
        """The reply to a GET request; status 0: none."""
        if self.loading:
            return 503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
        match path:
            case "/health":
                return self.health or 0, {}
            case "/info":
                return 200, {
                    "model_id": self.model,
                    "model_sha": "0" * 40,
                    "model_dtype_str": "float16",
                    "version": "3",
                } | ({"max_concurrent_requests": self.most_requests} if self.most_requests else {})
            case "/props" if self.stated_slots:
                return 200, {"total_slots": self.stated_slots}
            case "/v1/models":
                return 200, {"object": "list", "data": [{"id": name, "owned_by": self.owner} for name in self.models]}
            case "/calls":
                return 200, {"count": self.count, "most_busy": self.most_busy, "calls": self.calls}
            case "/state":
                return 200, {
                    "mode": self.mode,
                    "latency": self.latency,
                    "limit": self.limit,
                    "drag": self.drag,
                    "count": self.count,
                    "in_flight": self.in_flight,
                    "most_busy": self.most_busy,
                }
        return 404, {"error": "not found"}


_FAILURE = b'{"error": "scripted\\n  failure"}'
_BODIES = {
    "garbage": b"<html>502 Bad Gateway</html>",
    "nested": b"[" * 100_000,
    "array": b"[]",
    "wrong": b'{"error": "a 200 that is none"}',
    "huge": b'{"generated_text": "' + b"x" * 9_000_000 + b'"}',
}


def _prompt(path: str, body: dict) -> str:
    """Return the text to continue; of a chat the messages, each under its role. Images are excluded."""
    if path.endswith("/chat/completions"):
        return "".join(f"<|{message['role']}|>\n{_text(message['content'])}\n" for message in body["messages"])
    return body["inputs"] if path == "/generate" else body["prompt"]


def _text(content: str | list[dict] | None) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def images(body: dict) -> list[bytes]:
    """Return the images of a request's body, in order: parts of a chat's messages, or Markdown in an input."""
    if "messages" not in body:
        return [b64decode(image) for image in re.findall(r"!\[\]\(data:[^;)]*;base64,([^)]*)\)", body["inputs"])]
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    return [b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts if part["type"] == "image_url"]


def _reply(path: str, body: dict, prompt: str, text: str) -> tuple[bytes, str]:
    """Body and headers; a token is a word, and `max_new_tokens` is honoured. Stop strings stay in the text."""
    prompt_length, words = len(prompt.split()), text.split(" ")
    fields, names = (body["parameters"], ("max_new_tokens",)) if path == "/generate" else (body, MAX_TOKENS)
    limit = next((fields[name] for name in names if name in fields), 512)
    long = len(words) > limit
    if long:
        text, words = " ".join(words[:limit]), words[:limit]
    if path == "/generate":
        details = {"finish_reason": "length" if long else "eos_token", "generated_tokens": len(words), "prefill": []}
        return json.dumps(
            {"generated_text": text, "details": details}
        ).encode(), f"x-prompt-tokens: {prompt_length}\r\n"
    choice: dict = {"index": 0, "text": text, "finish_reason": "length" if long else "stop"}
    if path.endswith("/chat/completions"):
        choice["message"] = {"role": "assistant", "content": choice.pop("text")}
    usage = {
        "prompt_tokens": prompt_length,
        "completion_tokens": len(words),
        "total_tokens": prompt_length + len(words),
    }
    return json.dumps({"object": "text_completion", "choices": [choice], "usage": usage}).encode(), ""


#: False values of a broken server for tokens, seconds and finish reasons.
LIES = (-1, 10**30, 1e308, "many", None, True, [], {"tokens": 1}, 2**63, 0.5, "9" * 400, "\u0663")


def _lie(reply: bytes, number: int) -> tuple[bytes, str, str]:
    """Return the reply with the `number`-th false value for each count; its headers, and its queue time."""
    lie, second_lie, value = LIES[number % len(LIES)], LIES[(number // len(LIES)) % len(LIES)], json.loads(reply)
    if "generated_text" in value:
        value["details"] = {
            "finish_reason": second_lie if second_lie != "many" else "eos_token",
            "generated_tokens": lie,
        }
    else:
        value["usage"] = {"prompt_tokens": lie, "completion_tokens": second_lie, "total_tokens": lie}
        value["choices"][0]["finish_reason"] = second_lie
    lie_text = json.dumps(lie)
    return json.dumps(value).encode(), f"x-prompt-tokens: {lie_text}\r\nx-generated-tokens: {lie_text}\r\n", lie_text


class _Connection(asyncio.Protocol):
    """HTTP/1.1 for well-behaved clients: one request after the other, Content-Length, keep-alive."""

    def __init__(self, server: FakeEndpoint):
        self._server = server
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport
        self._server.connections.add(self)

    def connection_lost(self, exception: Exception | None) -> None:
        self._server.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end]
        lower = head.lower()
        index = lower.find(b"\r\ncontent-length:")
        length = int(lower[index + 17 :].split(b"\r\n", 1)[0]) if index >= 0 else 0
        if len(self._buffer) < end + 4 + length:
            return
        raw, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
        method, path, _ = head.split(b" ", 2)
        if method == b"POST":
            self._server.answer(path.decode(), raw, head, self._send, self.transport.abort)
        else:
            status, value = self._server.about(path.decode())
            if status:
                self._send(status, json.dumps(value).encode())

    def _send(self, status: int, body: bytes, headers: str = "", truncated: bool = False) -> None:
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.transport.write(head.encode() + (body[: len(body) // 2] if truncated else body))
        if truncated:
            self.transport.close()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--model", default="fake")
    parser.add_argument("--reply", help="the reply to each prompt that has no other")
    parser.add_argument("--replies", type=Path, help="JSON file: sha256 of a prompt -> reply")
    parser.add_argument("--script", help="MODULE:FUNCTION, from prompt to reply")
    parser.add_argument("--failures", default="", help="as above, separated by commas")
    parser.add_argument("--log", type=Path, help="JSONL file to which each call is appended")
    args = parser.parse_args()
    if args.script:
        module, _, function = args.script.partition(":")
        reply = getattr(importlib.import_module(module), function)
    else:
        replies = json.loads(args.replies.read_text(encoding="utf-8")) if args.replies else {}
        reply = from_mapping(replies, args.reply)

    async def serve() -> None:
        server = FakeEndpoint(
            reply,
            latency=args.latency,
            slots=args.slots,
            failures=filter(None, args.failures.split(",")),
            model=args.model,
            log=args.log,
            port=args.port,
        )
        await server.start()
        print(f"listening on {server.port}", flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
