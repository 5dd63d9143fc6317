"""The fake endpoint as a separate process, with a log of its calls. It gives the replies of the gold agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.util.process import die_with_parent


class Endpoint:
    """A fake endpoint, which writes each call into `log` before it answers."""

    def __init__(
        self, folder: Path, replies: Mapping[str, str | int], latency: float, module: str = "tests.fake_endpoint"
    ):
        """`replies`: by the sha256 of the prompt. `latency`: seconds of each call."""
        self.log = folder / "calls.jsonl"
        self.log.touch()
        self._read, self._calls = 0, []
        replies_file = folder / "replies.json"
        replies_file.write_text(json.dumps(dict(replies)), encoding="utf-8")
        self._command = [
            sys.executable,
            "-m",
            module,
            "--replies",
            str(replies_file),
            "--log",
            str(self.log),
            "--latency",
            str(latency),
            "--slots",
            "1000",
        ]
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start the process; after `stop` on the same port, with the same log."""
        command = [*self._command, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        assert self.process.stdout
        match = re.search(r"listening on (\d+)", self.process.stdout.readline())
        assert match, "the fake endpoint does not start"
        self.port = int(match[1])

    @property
    def tgi(self) -> str:
        return f"tgi://127.0.0.1:{self.port}"

    def control(self, **wish: Any) -> None:
        """Change the behaviour of the endpoint: mode, latency, limit, drag (tests/fake_endpoint.py)."""
        address = f"http://127.0.0.1:{self.port}/control"
        with urllib.request.urlopen(address, json.dumps(wish).encode(), timeout=10) as response:
            assert response.status == 200

    @property
    def calls(self) -> list[dict]:
        """All calls so far: sha256 of the prompt, time of arrival (Unix seconds), and the status of a refusal."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new.rpartition(b"\n")[0]
        if whole:
            self._read += len(whole) + 1
            self._calls += map(json.loads, whole.splitlines())
        return self._calls

    @property
    def count(self) -> int:
        return len(self.calls)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
