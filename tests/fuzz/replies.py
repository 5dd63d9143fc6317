"""Hostile replies of each role. Half of them are junk alone, half have junk within a plausible reply of the role.

A reply depends on the seed, the role, the prompt and how often this prompt was sent before: an equal run gets
equal replies, in any order of episodes.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.junk import make_junk

MOST = 1_000_000  #: characters of a reply
_PARTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LISTED = re.compile(r"^([A-Za-z0-9_.-]{1,100})\((.*?)\):", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+): ")
_FENCES = ("", "json", "sql", "python")


class Replies:
    """The replies of one role, as a function of the prompt for a fake endpoint."""

    def __init__(self, role: str, seed: int, max_characters: int = MOST):
        self._role, self._seed, self._max_characters = role, seed, max_characters
        self._times: Counter[str] = Counter()

    def __call__(self, prompt: str) -> str:
        digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
        self._times[digest] += 1
        return make_reply(self._role, prompt, f"{self._seed} {digest} {self._times[digest]}", self._max_characters)


def make_reply(role: str, prompt: str, seed: str, max_characters: int = MOST) -> str:
    """Return the reply of a role to a prompt, of at most `max_characters`."""
    rng = random.Random(f"{role} {seed}")
    if rng.random() < 0.5:
        return make_junk(rng, max_characters)
    reply = _FORMS[role](_Writer(rng, prompt, max_characters))
    kind = rng.randrange(12)
    if kind == 0:
        reply = f"```{rng.choice(_FENCES)}\n{reply}\n```"
    elif kind == 1:
        reply = f"<think>{make_junk(rng, max_characters // 4)}{rng.choice(('', '</think>'))}\n{reply}"
    elif kind == 2:
        reply += make_junk(rng, max_characters // 4)
    elif kind == 3:
        reply = make_junk(rng, max_characters // 4) + reply
    return reply[:max_characters]


class _Writer:
    """Chooses the parts of one reply."""

    def __init__(self, rng: random.Random, prompt: str, max_characters: int):
        self.rng, self.prompt, self._max_characters = rng, prompt, max_characters

    @property
    def junk(self) -> str:
        """Junk, or sometimes a sane text."""
        return (
            self.rng.choice(_PARTS["sane"])
            if self.rng.random() < 0.25
            else make_junk(self.rng, self._max_characters // 2)
        )

    @property
    def short(self) -> str:
        """A sane text, or sometimes junk of a few characters."""
        return self.rng.choice(_PARTS["sane"]) if self.rng.random() < 0.5 else make_junk(self.rng, 40)

    @property
    def number(self) -> int:
        return self.rng.choice((1, 2, 3, 4, 5, 9, 999999))

    def fill_in(self, form: str, junk: str | None = None) -> str:
        """Return a form of replies.toml with its parts."""
        label = self.rng.choice(_PARTS["labels"])
        return form.replace("LABEL", label).replace("OTHER", self.short).replace("JUNK", junk or self.junk)

    def actions(self) -> Sequence[str]:
        """Return the forms of the prompt's actions."""
        choices = (
            self.prompt.rpartition("they must be one of ")[2][:200] if "natural language plan" in self.prompt else ""
        )
        return next(forms for word, forms in _PARTS["actions"].items() if word in (choices or self.prompt))


def _say(write: _Writer) -> str:
    return write.fill_in(write.rng.choice(_PARTS["say"]))


def _judge(write: _Writer) -> str:
    return write.fill_in(write.rng.choice(_PARTS["judge"]))


def _solve(write: _Writer) -> str:
    if write.rng.random() < 0.5:
        return _say(write)
    return f"Subgoal {write.number}: {write.short} Actions: {_ground(write)}"


def _plan(write: _Writer) -> str:
    if "You plan how to answer" in write.prompt:
        return "\n".join(f"Plan: {write.short}\n#E{n} = {_call(write)}" for n in range(1, write.rng.randint(2, 9)))
    if "You plan how to reach" in write.prompt:
        lines = [write.junk if write.rng.random() < 0.4 else write.short for _ in range(write.rng.randint(1, 6))]
        return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
    if "You plan the work" in write.prompt or "Problem:" in write.prompt:
        return _plan_experts(write)
    kind = write.rng.randrange(4)
    if kind == 0:
        return f"Subgoal {write.number}: {write.junk}"
    if kind == 1:
        return "Yes, I will stop planning."
    if kind == 2:
        return f"No, I will keep planning. Subgoal {write.number}: {write.junk}"
    return "; ".join(f"Subgoal {n}: {write.short}" for n in range(1, write.rng.choice((3, 9, 500))))


def _plan_experts(write: _Writer) -> str:
    steps = [write.rng.choice(_PARTS["experts"]) if write.rng.random() < 0.7 else write.junk for _ in range(4)]
    kind = write.rng.randrange(3)
    if kind == 0:
        return "\n".join(f"Step {n}: {step}," for n, step in enumerate(steps, start=1))
    return ",".join(steps) if kind == 1 else f"({','.join(steps[:2])},)({steps[2]},){steps[3]},"


def _ground(write: _Writer) -> str:
    forms, first, many = write.actions(), write.number, write.rng.choice((1, 1, 2, 3, 5, 300))
    actions = []
    for number in range(first, first + many):
        junk = write.junk if many < 9 else write.short
        actions.append(f"R{number} = {write.fill_in(write.rng.choice(forms), junk)}")
    text = "; ".join(actions)
    return text.removeprefix("R1 = ") if write.prompt.endswith("R1 = ") else text


def _teach(write: _Writer) -> str:
    forms, lines, number = write.actions(), [], 0
    for step in range(1, write.rng.choice((2, 3, 4, 40))):
        lines.append(f"Subgoal {step}: {write.short}")
        for action in range(1, write.rng.choice((2, 3))):
            number += 1
            call = write.fill_in(write.rng.choice(forms), write.short)
            lines.append(f"Action {step}-{action}: R{number} = {call} = {write.short}")
    if write.rng.random() < 0.5:
        lines[write.rng.randrange(len(lines))] += write.junk
    return "\n".join(lines)


def _call(write: _Writer) -> str:
    """Return a name and arguments, separated by a space, mostly of a function in the prompt."""
    functions = _LISTED.findall(write.prompt)
    name, parameters = write.rng.choice(functions) if functions and write.rng.random() < 0.9 else (write.short, "")
    return f"{name} {_write_arguments(write, _ARGUMENT.findall(parameters) or ['a'])}"


def _write_arguments(write: _Writer, names: Sequence[str]) -> str:
    name, junk = write.rng.choice(names), write.junk
    forms = (
        json.dumps(dict.fromkeys(names, junk)),
        json.dumps({name: [junk], junk[:99]: name}),
        json.dumps({name: f"#E1{write.short}"}),
        json.dumps({name: {name: write.short}}),
        f'{{"{name}": "{junk}"}}',
        f'{{"{name}": {junk}}}',
        f'{{"{name}": 1, "{name}": "{write.short}", "{name}": {{}}}}',
        f'{{"{name}": {"9" * 5000}}}',
        f'{{"{name}": {"[" * 90}{"]" * 90}}}',
        junk,
        "{}",
    )
    return write.rng.choice(forms)


def _decide(write: _Writer) -> str:
    if write.rng.random() < 0.12:
        kind = write.rng.choice(("give_answer", "give_answer", "give_up_and_restart", "x"))
        name, arguments = "Finish", json.dumps({"return_type": kind, "final_answer": write.junk})
    else:
        name, _, arguments = _call(write).partition(" ")
    return f"Thought: {write.short}\nAction: {name}\nAction Input: {arguments}"


def _record(write: _Writer) -> str:
    junk = write.junk
    entry = {"call": write.number, "aim": junk, "answer": [junk]}
    forms = (
        json.dumps({"status": "success", "aim": write.short, "answer": junk}),
        json.dumps({"status": "failure", "aim": junk, "reason": write.short}),
        json.dumps({"results": [entry, entry], "failures": [{"call": write.short, "reason": junk}]}),
        '{"status": "success", "answer": "' + junk,
        f"1. {junk}\n2. {write.short}",
        f'{{"status": "success", "aim": {junk}, "answer": {{"a": {write.short}}}}}',
    )
    return write.rng.choice(forms)


def _simulate(write: _Writer) -> str:
    junk = write.junk
    forms = (
        json.dumps({"error": "", "response": junk}),
        json.dumps({"error": junk, "response": {write.short: [junk, 10**60, None]}}),
        f'{{"error": "", "response": {junk}}}',
        f'{{"error": 1, "response": {"9" * 5000}}}',
        f'{{"error": "", "response": {"[" * 90}{"]" * 90}}}',
        junk,
    )
    return write.rng.choice(forms)


_FORMS: dict[str, Callable[[_Writer], str]] = {
    "planner": _plan,
    "grounder": _ground,
    "solver": _solve,
    "policy": _decide,
    "router": _decide,
    "state_manager": _record,
    "judge": _judge,
    "simulator": _simulate,
    "teacher": _teach,
    "qa": _say,
    "vqa": _say,
    "captioner": _say,
}
