"""Hostile replies of each role. Half of them are junk alone, half have it within a reply that the role may write.

A reply depends on the seed, the role, the prompt and how often this prompt was asked before: the same run again gets
the same replies, in whatever order episodes run.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

from tests.fuzz.junk import make_junk

MOST = 1_000_000  #: characters of a reply
_LISTED = re.compile(r"^([A-Za-z0-9_.-]{1,100})\((.*?)\):", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+): ")
#: What a model that is of no harm would write in the same positions, so that episodes also get beyond their first step.
SANE = (
    "2 + 3", "R1", "R1 * 2", "x + 3 = 7", "Ann Berg 1", "Acme 1", "hat", "name FROM hat", "SELECT name FROM hat",
    "Click the link Hats", "blue", "buy now", "Image Deblurring", "yes", "12", "SHOW TABLES", "n for n in range(9)",
)  # fmt: skip
EXPERTS = ("Colorization", "Image Deblurring", "Image Captioning", "Machine Translation", "Sentiment Analysis")


class Replies:
    """The replies of one role, as a function of the prompt: for a fake endpoint."""

    def __init__(self, role: str, seed: int, most: int = MOST):
        self._role, self._seed, self._most = role, seed, most
        self._times: Counter[bytes] = Counter()

    def __call__(self, prompt: str) -> str:
        name = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
        self._times[name] += 1
        return make_reply(self._role, prompt, f"{self._seed} {name.hex()} {self._times[name]}", self._most)


def make_reply(role: str, prompt: str, seed: str, most: int = MOST) -> str:
    """The reply of a role to a prompt."""
    rng = random.Random(f"{role} {seed}")
    if rng.random() < 0.5:
        return make_junk(rng, most)
    reply = _FORMS.get(role, _say)(_Writer(rng, prompt, most))
    kind = rng.randrange(12)
    if kind == 0:
        reply = f"```{rng.choice(('', 'json', 'sql', 'python'))}\n{reply}\n```"
    elif kind == 1:
        reply = f"<think>{make_junk(rng, most // 4)}{rng.choice(('', '</think>'))}\n{reply}"
    elif kind == 2:
        reply += make_junk(rng, most // 4)
    elif kind == 3:
        reply = make_junk(rng, most // 4) + reply
    return reply[:most]


class _Writer:
    """Parts of one reply."""

    def __init__(self, rng: random.Random, prompt: str, most: int):
        self.rng, self.prompt, self._most = rng, prompt, most

    @property
    def junk(self) -> str:
        """What stands where the role should say something: junk, and at times something sane."""
        if self.rng.random() < 0.25:
            return self.rng.choice(SANE)
        return make_junk(self.rng, self._most // 2)

    @property
    def short(self) -> str:
        return self.rng.choice(SANE) if self.rng.random() < 0.5 else make_junk(self.rng, 40)

    @property
    def number(self) -> int:
        return self.rng.choice((1, 2, 3, 4, 5, 9, 999999))

    def choose(self, *forms: Callable[[], str]) -> str:
        return self.rng.choice(forms)()


def _say(write: _Writer) -> str:
    return write.choose(
        lambda: f"{write.junk} Answer is {write.junk}.", lambda: f"The answer is {write.junk}",
        lambda: f"Answer: {write.junk}", lambda: f"({write.rng.choice('ABCDZ')}) {write.junk}", lambda: write.junk,
        lambda: f"\\boxed{{{write.junk}}}", lambda: f"{write.junk}\nAnswer: yes", lambda: "No answer",
        lambda: f"Yes, {write.junk}",
    )  # fmt: skip


def _solve(write: _Writer) -> str:
    return write.choose(lambda: f"Subgoal {write.number}: {write.short} Actions: {_ground(write)}", lambda: _say(write))


def _plan(write: _Writer) -> str:
    if "You plan how to answer" in write.prompt:
        return "\n".join(f"Plan: {write.short}\n#E{n} = {_call(write)}" for n in range(1, write.rng.randint(2, 9)))
    if "You plan how to reach" in write.prompt:
        lines = (write.junk if write.rng.random() < 0.4 else write.short for _ in range(write.rng.randint(1, 6)))
        return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
    if "ing models" in write.prompt or "You plan the work" in write.prompt or "Problem:" in write.prompt:
        steps = [write.rng.choice(EXPERTS) if write.rng.random() < 0.7 else write.junk for _ in range(4)]
        return write.choose(
            lambda: "\n".join(f"Step {n}: {step}," for n, step in enumerate(steps, start=1)), lambda: ",".join(steps),
            lambda: f"({','.join(steps[:2])},)({steps[2]},){steps[3]},",
        )  # fmt: skip
    return write.choose(
        lambda: f"Subgoal {write.number}: {write.junk}", lambda: "Yes, I will stop planning.",
        lambda: f"No, I will keep planning. Subgoal {write.number}: {write.junk}",
        lambda: "; ".join(f"Subgoal {n}: {write.short}" for n in range(1, write.rng.choice((3, 9, 500)))),
    )  # fmt: skip


def _ground(write: _Writer) -> str:
    prompt = write.prompt
    forms = next(forms for word, forms in _ACTIONS.items() if word in prompt)
    first, many = write.number, write.rng.choice((1, 1, 2, 3, 5, 300))
    said = []
    for number in range(first, first + many):
        form = write.rng.choice(forms)
        junk = write.junk if many < 9 else write.short
        said.append(f"R{number} = " + form.replace("JUNK", junk).replace("OTHER", write.short))
    text = "; ".join(said)
    return text.removeprefix("R1 = ") if prompt.endswith("R1 = ") else text


#: A word of a grounder's prompt to the actions of its domain; the last domain has no list of them.
_ACTIONS: dict[str, Sequence[str]] = {
    "SetEquation": ("Calculator(JUNK)", "SetEquation(JUNK)", "SolveEquation(JUNK)", "SolveEquation(R1, R2)", "Count(JUNK)",
                    "SolveInequality(JUNK)", "Code(JUNK)", "Define(JUNK)", "Calculator(R1 + JUNK)", "JUNK"),
    "VQA(": ("VQA([IMG], Question: JUNK)", "QA([R1], Question: JUNK)", "QA(JUNK)", "VQA(JUNK)", "JUNK"),
    "KnowledgeQuery": ("KnowledgeQuery(JUNK)", "ParagraphRetrieve(R1, Query: JUNK)", "QA([R1, R2], Question: JUNK)",
                       "KnowledgeQuery(Acme 1)", "QA(JUNK)", "QA([JUNK], Question: OTHER)", "ParagraphRetrieve(JUNK)",
                       "Calculator(JUNK)", "Calculator(R1 > JUNK)", "Code(JUNK)", "JUNK"),
    "CLICK": ("CLICK(Env, QUERY: JUNK)", "TYPE(Env, QUERY: JUNK, TEXT: OTHER)", "TYPE(Env, QUERY: OTHER, TEXT: JUNK)",
              "SELECT(R1, QUERY: JUNK, TEXT: OTHER)", "CLICK(JUNK)", "TYPE(JUNK)", "JUNK"),
    "FeatureRetrieve": ("Search(JUNK)", "FeatureRetrieve(R1, Query: JUNK)", "FeatureRetrieve(JUNK)", "Click(JUNK)",
                        "Pick(Item_names: R1, Item_features: [R2, R3], Query: JUNK)", "Pick(JUNK)", "Search(hat)",
                        "Pick(Item_names: [JUNK], Query: OTHER)", "Click(buy now)", "JUNK"),
    "": ("JUNK", "SELECT JUNK", "SELECT name FROM hat WHERE JUNK", "SHOW TABLES", "SELECT name FROM hat WHERE name = 'JUNK'",
         "SELECT name FROM hat WHERE price > JUNK", "DESCRIBE JUNK", "SELECT JUNK FROM hat", "name FROM hat"),
}  # fmt: skip


def _arguments(write: _Writer, names: Sequence[str]) -> str:
    name = write.rng.choice(names) if names else "a"
    return write.choose(
        lambda: json.dumps(dict.fromkeys(names or ["a"], write.junk)), lambda: f'{{"{name}": "{write.junk}"}}',
        lambda: f'{{"{name}": {write.junk}}}', lambda: json.dumps({write.short: write.short, name: [write.junk]}),
        lambda: f'{{"{name}": 1, "{name}": "{write.short}", "{name}": {{}}}}', lambda: write.junk,
        lambda: json.dumps({name: "#E1" + write.short}), lambda: f'{{"{name}": ' + "9" * 5000 + "}", lambda: "{}",
        lambda: f'{{"{name}": ' + "[" * 90 + "]" * 90 + "}", lambda: json.dumps({name: {name: write.short}}),
    )  # fmt: skip


def _call(write: _Writer) -> str:
    """A name and arguments: mostly of a function that the prompt lists."""
    listed = _LISTED.findall(write.prompt)
    name, described = write.rng.choice(listed) if listed and write.rng.random() < 0.9 else (write.short, "")
    return f"{name} {_arguments(write, _ARGUMENT.findall(described))}"


def _decide(write: _Writer) -> str:
    if write.rng.random() < 0.12:
        kind, answer = write.rng.choice(("give_answer", "give_answer", "give_up_and_restart", "x")), write.junk
        finish = json.dumps({"return_type": kind, "final_answer": answer})
        return f"Thought: {write.short}\nAction: Finish\nAction Input: {finish}"
    name, _, arguments = _call(write).partition(" ")
    return f"Thought: {write.short}\nAction: {name}\nAction Input: {arguments}"


def _record(write: _Writer) -> str:
    return write.choose(
        lambda: json.dumps({"status": "success", "aim": write.short, "answer": write.junk}),
        lambda: json.dumps({"status": "failure", "aim": write.junk, "reason": write.short}),
        lambda: json.dumps({"results": [{"call": write.number, "aim": write.junk, "answer": [write.junk]}],
                            "failures": [{"call": write.short, "reason": write.junk}]}),
        lambda: '{"status": "success", "answer": "' + write.junk, lambda: f"1. {write.junk}\n2. {write.short}",
        lambda: f'{{"status": "success", "aim": {write.junk}, "answer": {{"a": {write.short}}}}}',
    )  # fmt: skip


def _judge(write: _Writer) -> str:
    label = write.rng.choice(("Solved", "Unsolved", "Unsure", "Solvable", "Unsolvable", "First", "Second", "Tie"))
    return write.choose(
        lambda: f"Reason: {write.junk}\nLabel: {label}", lambda: f"Label: {write.junk}", lambda: f"Label: {label}",
        lambda: f"CORRECT {write.junk}", lambda: f"{write.junk}\nIncorrect", lambda: write.junk,
    )  # fmt: skip


def _simulate(write: _Writer) -> str:
    return write.choose(
        lambda: json.dumps({"error": "", "response": write.junk}), lambda: write.junk,
        lambda: json.dumps({"error": write.junk, "response": {write.short: [write.junk, 10**60, None]}}),
        lambda: f'{{"error": "", "response": {write.junk}}}', lambda: '{"error": 1, "response": ' + "9" * 5000 + "}",
        lambda: '{"error": "", "response": ' + "[" * 90 + "]" * 90 + "}",
    )  # fmt: skip


def _teach(write: _Writer) -> str:
    offered = write.prompt.rpartition("they must be one of ")[2][:200]
    forms = next(forms for word, forms in _ACTIONS.items() if word in (offered or write.prompt))
    steps, number = [], 0
    for step in range(1, write.rng.choice((2, 3, 4, 40))):
        steps.append(f"Subgoal {step}: {write.short}")
        for action in range(1, write.rng.choice((2, 3))):
            number += 1
            call = write.rng.choice(forms).replace("JUNK", write.short).replace("OTHER", write.short)
            steps.append(f"Action {step}-{action}: R{number} = {call} = {write.short}")
    if write.rng.random() < 0.5:
        steps[write.rng.randrange(len(steps))] += write.junk
    return "\n".join(steps)


_FORMS: dict[str, Callable[[_Writer], str]] = {
    "planner": _plan, "grounder": _ground, "solver": _solve, "policy": _decide, "router": _decide,
    "state_manager": _record, "judge": _judge, "simulator": _simulate, "teacher": _teach, "qa": _say, "vqa": _say,
    "captioner": _say,
}  # fmt: skip
