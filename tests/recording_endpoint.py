"""A fake model server that keeps path and body of its requests, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.fake_endpoint import FakeEndpoint, Reply

Request = list[Any]  #: the path and the body, which is JSON
Requests = list[Request]


class RecordingEndpoint(FakeEndpoint):
    """`requests` holds those that ask for a reply. A prompt at which the scripted model fails gets a 422."""

    def __init__(self, reply: Reply):
        super().__init__(reply)
        self.requests: Requests = []

    def answer(self, path: str, raw: bytes, head: bytes, send: Callable[..., None], cut: Callable[[], None]) -> None:
        self.requests.append([path, json.loads(raw)])
        try:
            super().answer(path, raw, head, send, cut)
        except Exception as error:  # unanswered, the client would wait for minutes
            send(422, json.dumps({"error": f"the scripted model fails: {error!r}"}).encode())


def read_prompt(request: Request) -> str:
    """The prompt of a request; of a chat the texts of its messages, a line each. Images are left out."""
    _, body = request
    if "messages" not in body:
        return body["inputs"] if "inputs" in body else body["prompt"]
    contents = [message["content"] for message in body["messages"]]
    parts = [[{"text": content}] if isinstance(content, str) else content for content in contents]
    return "\n".join(part["text"] for message in parts for part in message if "text" in part)
