"""A fake model server that ends its replies before the first stop string, as most servers do."""

from __future__ import annotations

import json
from collections.abc import Callable

from lumos_queue.endpoints.replies import truncate_at_stop as cut_text
from tests.fake_endpoint import FakeEndpoint


class StoppingEndpoint(FakeEndpoint):
    """A FakeEndpoint that honours stop strings. The finish reason of text-generation-inference says so."""

    def answer(self, path: str, raw: bytes, head: bytes, send: Callable[..., None], cut: Callable[[], None]) -> None:
        body = json.loads(raw)
        stops = body.get("stop") or body.get("parameters", {}).get("stop") or ()
        whole = self.reply

        def stopped(prompt: str) -> str:
            return cut_text(whole(prompt), stops)

        prompt = str(body.get("inputs"))
        if path == "/generate" and stopped(prompt) != whole(prompt):
            self.failures.append("finish:stop_sequence")
        self.reply = stopped
        try:
            super().answer(path, raw, head, send, cut)
        finally:
            self.reply = whole
