"""Fuzz domains: this process runs model servers with hostile replies, and watches a child that runs the commands.

It ends a child that takes too long or too much memory, and records the stacks of its threads.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from lumos_queue.endpoints.http import reply_bytes
from tests.fake_endpoint import FakeEndpoint, Reply
from tests.fuzz.domains import DOMAINS
from tests.fuzz.replies import MOST, Replies

#: Limit of tokens of a role's replies, if it is below the 2,048 of --max-tokens. Servers that send more bytes than
#: these tokens can have are refused as broken, before their replies are read.
TOKENS = {
    "qa": 100,
    "vqa": 100,
    "judge": 100,
    "captioner": 512,
    "teacher": 800,
    "simulator": 1024,
    "planner": 512,
    "policy": 1024,
    "router": 1024,
    "state_manager": 1024,
    "solver": 1024,
}
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Bounds:
    """The limits of a domain."""

    seconds: float = 300.0  #: of the whole domain
    memory: int = 4 * 2**30  #: bytes
    held: float = 2.0  #: seconds for which one call may hold the interpreter or the event loop


@dataclass
class Outcome:
    """The results of a domain."""

    domain: str
    violations: list[str]
    seconds: float = 0.0
    values: dict[str, Any] = field(default_factory=dict)  #: as work.py writes them

    def held(self, gap_name: str) -> float:
        return self.values.get(gap_name, {}).get("held", 0.0)


@contextmanager
def open_hostile_servers(
    domain: str, seed: int, log: Path | None = None, max_characters: int = MOST
) -> Iterator[dict[str, dict[str, str]]]:
    """Open model servers for all roles of a domain; yield role to addresses by scheme. `max_characters`: of a reply."""
    roles = {role for case in DOMAINS[domain] for role in case.all_roles}
    with ExitStack() as stack:
        servers = {}
        for role in sorted(roles):
            replies = Replies(role, seed, max_characters)
            tgi = stack.enter_context(FakeEndpoint(_send(replies, role, _tgi, log)))
            chat = stack.enter_context(FakeEndpoint(_send(replies, role, _chat, log)))
            servers[role] = {"tgi": tgi.tgi, "chat": chat.chat}
        yield servers


def _send(replies: Replies, role: str, write: Any, log: Path | None) -> Reply:
    """Return a function that writes the body of a reply within the product's limit, and logs it."""
    max_bytes = reply_bytes(TOKENS.get(role, 2048)) - 2**12

    def reply(prompt: str) -> tuple[int, bytes]:
        text = replies(prompt)
        body = write(text)
        while len(body) > max_bytes:
            text = text[: int(len(text) * max_bytes / len(body) * 0.98)]
            body = write(text)
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"time": time.time(), "role": role, "reply": text}) + "\n")
        return 200, body

    return reply


def _tgi(text: str) -> bytes:
    details = {"finish_reason": "eos_token", "generated_tokens": 9, "prefill": []}
    return json.dumps({"generated_text": text, "details": details}).encode()


def _chat(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def run_domain(domain: str, folder: Path, data: Path, episodes: int, seed: int, bounds: Bounds) -> Outcome:
    """Fuzz a domain in a separate process. Its files and a log of the replies stay in the folder."""
    folder.mkdir(parents=True)
    with open_hostile_servers(domain, seed, folder / "replies.jsonl") as roles:
        request = {
            "folder": str(folder),
            "data": str(data),
            "roles": roles,
            "episodes": episodes,
            "limit": min(1.0, bounds.held / 2),
        }
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        began = time.monotonic()
        problem = _watch(domain, folder, bounds)
        seconds = time.monotonic() - began
    outcome = Outcome(domain, [problem] if problem else [], seconds)
    if (result := folder / "result.json").exists():
        outcome.values = json.loads(result.read_text(encoding="utf-8"))
        outcome.violations += outcome.values["violations"]
    for gap_name in ("interpreter", "loop"):
        if outcome.held(gap_name) > bounds.held:
            gap: Mapping[str, Any] = outcome.values[gap_name]
            outcome.violations.append(f"one call held the {gap_name} for {gap['held']:.1f} s:\n{gap['stack']}")
    return outcome


def _watch(domain: str, folder: Path, bounds: Bounds) -> str:
    """Run the process; return why it was ended or how it failed, or '' if it succeeded."""
    command = [sys.executable, "-m", "tests.fuzz.work", domain, str(folder / "request.json")]
    with (folder / "output.txt").open("wb") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            problem = _wait(child, bounds)
            if problem:
                child.send_signal(signal.SIGUSR1)
                time.sleep(2)
                problem += "\n" + _tail(folder / "stacks.txt") + _tail(folder / "stalls.txt")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if not problem and child.returncode:
        problem = f"the process ended with {child.returncode}:\n{_tail(folder / 'output.txt')}"
    return problem


def _wait(child: subprocess.Popen[bytes], bounds: Bounds) -> str:
    until, process = time.monotonic() + bounds.seconds, psutil.Process(child.pid)
    while child.poll() is None:
        if time.monotonic() > until:
            return f"did not end in {bounds.seconds:g} s"
        try:
            memory = process.memory_info().rss
        except psutil.NoSuchProcess:
            break
        if memory > bounds.memory:
            return f"took more than {bounds.memory / 2**30:.1f} GiB of memory"
        time.sleep(POLL_SECONDS)
    return ""


def _tail(path: Path, max_characters: int = 4000) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[-max_characters:] if path.exists() else ""
