"""An endpoint with prepared replies, for tests and for demonstrations of the control flow.

A rules file contains a JSON list of rules, or one rule per line. A rule is

    {"contains": "Should we stop planning?", "reply": "Yes, I will stop planning.", "delay": 0.1}

The reply is that of the first rule whose `contains` occurs in the prompt. `delay`, in seconds, is optional. Images are
accepted and ignored; the endpoint's identity reports that.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.endpoints.base import EndpointSettings, ModelCall
from lumos_queue.endpoints.constraints import judge, refuse_search
from lumos_queue.endpoints.replies import completion
from lumos_queue.endpoints.urls import local_path
from lumos_queue.errors import BadRow, EpisodeError, SpecError
from lumos_queue.records import Completion, Ending, Json, JsonObject
from lumos_queue.util.regular_file import read_regular
from lumos_queue.util.untrusted_json import read_json


@dataclass(frozen=True, slots=True)
class Rule:
    """The reply to prompts that contain a text, after a delay."""

    contains: str
    reply: str
    delay: float = 0.0  #: seconds


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Return the rules of a file, in order. Raises SpecError (no regular file, not JSON) and BadRow (a wrong rule)."""
    return _parse_rules(path, _read_rules(path))


def _read_rules(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise SpecError(f"Cannot read the rules file '{path}': {error}.") from None


def _parse_rules(path: Path, data: bytes) -> tuple[Rule, ...]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SpecError(f"Cannot read the rules file '{path}': {error}.") from None
    try:
        rows = read_json(text) if text.lstrip().startswith("[") else [read_json(row) for row in text.split("\n") if row]
    except ValueError as error:
        raise SpecError(f"The rules file '{path}' is not a JSON list of rules: {error}.") from None
    return tuple(_rule(number, row) for number, row in enumerate(rows, 1))


def _rule(number: int, row: Json) -> Rule:
    if not isinstance(row, dict):
        raise BadRow(number, "", "expected an object with 'contains' and 'reply'")
    contains, reply = (_read_text(number, row, name) for name in ("contains", "reply"))
    if unknown := row.keys() - {"contains", "reply", "delay"}:
        raise BadRow(number, min(unknown), "no such field; a rule has contains, reply and delay")
    delay = row.get("delay", 0)
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay < math.inf:
        raise BadRow(number, "delay", "expected seconds, 0 or more")
    return Rule(contains, reply, delay)


def _read_text(number: int, row: JsonObject, name: str) -> str:
    text = row.get(name)
    if not isinstance(text, str):
        raise BadRow(number, name, "expected a text")
    return text


def open_scripted(url: str, _settings: EndpointSettings) -> Scripted:
    """Return the endpoint at `scripted:FILE`. Raises SpecError or BadRow if FILE is no rules file."""
    path = local_path(url)
    data = _read_rules(path)
    rules, digest = _parse_rules(path, data), hashlib.sha256(data).hexdigest()
    return Scripted(rules, url, {"model": "scripted", "rules": len(rules), "sha256": digest})


class Scripted:
    """An endpoint that replies by rules, from a list in order, or by a function. `prompts` has all prompts so far."""

    def __init__(
        self,
        replies: Sequence[Rule | str] | Callable[[str], str],
        url: str = "scripted:",
        identity: dict[str, Json] | None = None,
    ):
        self.url = url
        self.admission = None
        self.prompts: list[str] = []
        self._identity = (identity or {"model": "scripted"}) | {"images": "no image seen"}
        self._next: Callable[[str], Rule | str] = replies if callable(replies) else _prepare(replies)

    async def generate(self, call: ModelCall) -> Completion:
        """Return the next reply. Raises EpisodeError('infra_error', …) when no reply is left or no rule fits."""
        refuse_search(self.url, call)
        self.prompts.append(call.prompt)
        start = time.perf_counter()
        reply = self._next(call.prompt)
        rule = reply if isinstance(reply, Rule) else Rule("", reply)
        if rule.delay:
            await asyncio.sleep(rule.delay)
        seconds = time.perf_counter() - start
        stops, rules = call.sampling.stop, call.sampling.rules
        answer = completion(rule.reply, stops, truncated=False, seconds=seconds, rules=rules)
        return judge(answer, call.constraint, was_sent=False)

    async def identity(self) -> dict[str, Json]:
        return dict(self._identity)

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _prepare(replies: Sequence[Rule | str]) -> Callable[[str], Rule | str]:
    rules = [reply for reply in replies if isinstance(reply, Rule)]
    return _by_rules(rules) if rules else _in_order([reply for reply in replies if isinstance(reply, str)])


def _by_rules(rules: Sequence[Rule]) -> Callable[[str], Rule]:
    def first_match(prompt: str) -> Rule:
        for rule in rules:
            if rule.contains in prompt:
                return rule
        raise EpisodeError(Ending.INFRA_ERROR, f"no rule of the script fits the prompt that ends in {prompt[-80:]!r}")

    return first_match


def _in_order(replies: Sequence[str]) -> Callable[[str], str]:
    reply_iterator = iter(replies)

    def next_reply(prompt: str) -> str:
        for reply in reply_iterator:
            return reply
        raise EpisodeError(Ending.INFRA_ERROR, f"the script of {len(replies)} replies is used up")

    return next_reply
