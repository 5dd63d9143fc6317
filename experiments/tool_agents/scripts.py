"""DFSDT and Sum2Act as lean scripts: the same prompts as this project sends, byte for byte, and no more.

What any implementation must do, they do, by the shortest way: list the functions of a question's documents, read the
three lines of a reply, parse the action's input as JSON, look the recorded answer up in a dict, append it to the
transcript or to the state, and write the next prompt. They search and go back as the paper's DFSDT does, and refuse
repeated calls as Sum2Act does.

What they leave out: arguments are not checked against the documents; a reply that is not as asked for ends the run;
marks of roles in texts are not broken; tools have no
descriptions; a state or transcript is never shortened; no digest is made, and nothing can be
resumed. Of the project they have the wording of the prompts, and nothing of it runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import orjson

from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.formulations.decision import DIVERSITY
from lumos_queue.prompts.tool_agent import POLICY, ROUTER, STATE_MANAGER, SYSTEM

WIDTH, DEEP, MAX_CALLS = 2, 12, 200  #: of DFSDT: decisions at a node, ToolBench's nodes on a path, calls
STEPS = 30  #: of Sum2Act
SHOWN, SHOWN_TO_MANAGER = 1024, 2048  #: characters of an answer
USER, ASSISTANT, END = "<|user|>\n", "\n<|assistant|>\n", "</s>\n"
_FINISH = FINISH.describe(is_described=True)  # a constant
_UNKNOWN = '{"error": "no answer to this request is available", "response": ""}', "not_recorded"
_REPLY = re.compile(r"(?:Thought: (.*)\n)?Action: (\S+)\nAction Input: (.+)", re.DOTALL)
_OTHERS = re.compile("[^a-z0-9]+")

Key = tuple[str, str, bytes]  #: tool, API, arguments as JSON with sorted names
Answers = Mapping[Key, tuple[str, str]]  #: to the body and the status
Row = tuple[str, str, str, str]  #: of an action: name, arguments, status, what was shown
#: Yields (role, prompt), is sent the reply, returns the answer, None where there is none, and the actions.
Episode = Generator[tuple[str, str], str, tuple[str | None, list[Row]]]


class Functions:
    """What a question's documents offer: lines for the prompt, and answers."""

    def __init__(self, documents: Sequence[Mapping[str, Any]], answers: Answers):
        self._answers = answers
        self._apis: dict[str, tuple[str, str]] = {}
        self.lines: dict[str, str] = {}
        for document in documents:
            tool, api = document["tool_name"], document["api_name"]
            name = f"{_plain(api)}_for_{_plain(tool)}"
            parameters = [
                f"{_plain(parameter['name'])}: {parameter['type'].lower()}"
                for parameter in document["required_parameters"]
            ]
            parameters += [
                f"[{_plain(parameter['name'])}: {parameter['type'].lower()}]"
                for parameter in document["optional_parameters"]
            ]
            self._apis[name] = tool, api
            description = f"A function of the tool '{tool}'. {document['api_description']}"
            meanings = [
                f"\n  {_plain(parameter['name'])}: {parameter['description']}"
                for parameter in (*document["required_parameters"], *document["optional_parameters"])
                if parameter["description"]
            ]
            self.lines[name] = f"{name}({'; '.join(parameters)}): {description}{''.join(meanings)}"

    def ask_for(self, question: str) -> str:
        return "Functions:\n" + "\n".join((*self.lines.values(), _FINISH)) + f"\n\nRequest: {question}"

    def call(self, name: str, arguments: Any) -> tuple[str, str]:
        """Body and status."""
        key = (*self._apis[name], orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS))
        return self._answers.get(key, _UNKNOWN)


def _plain(name: str) -> str:
    return _OTHERS.sub("_", name.lower()).strip("_")


def read(reply: str) -> tuple[str, str, str]:
    """Thought, name and arguments. Raises ValueError for other than the three lines."""
    match = _REPLY.fullmatch(reply)
    if match is None:
        raise ValueError(f"not three lines: {reply[:80]!r}")
    return match[1] or "", match[2], match[3]


def shorten(body: str, limit: int) -> str:
    return body if len(body) <= limit else body[:limit] + "..."


class _Search:
    """One search of DFSDT."""

    def __init__(self, question: str, documents: Sequence[Mapping[str, Any]], answers: Answers):
        self._functions = Functions(documents, answers)
        self._head = f"{SYSTEM}{POLICY}{USER}{self._functions.ask_for(question)}"
        self.actions: list[Row] = []
        self.answer: str | None = None
        self._calls = 0

    def expand(self, path: str, nodes: int, latest: str) -> Generator[tuple[str, str], str, bool]:
        """Search below the node that `path` leads to; returns whether the search continues elsewhere."""
        attempts: list[dict[str, str]] = []
        for _ in range(WIDTH):
            hint = _tell(attempts, latest) if attempts else ""
            reply = yield "policy", f"{self._head}{path}{hint}{ASSISTANT}"
            self._calls += 1
            if self._calls == MAX_CALLS:
                return False
            thought, name, argument_text = read(reply)
            arguments = orjson.loads(argument_text)
            if name == "Finish":
                if arguments["return_type"] == "give_answer":
                    self.answer = arguments["final_answer"]
                    self.actions.append((name, argument_text, "ok", self.answer or ""))
                    return False
                self.actions.append((name, argument_text, "give_up", ""))
                return True  # two levels back: no sibling is tried
            body, status = self._functions.call(name, arguments)
            preview = shorten(body, SHOWN)
            self.actions.append((name, argument_text, status, preview))
            attempts.append({"name": name, "arguments": argument_text, "function_output": preview})
            deeper = nodes + 2 + bool(thought)
            if deeper < DEEP:
                below = f"{path}{ASSISTANT}{reply}{END}{USER}Observation: {preview}"
                if not (yield from self.expand(below, deeper, preview)):
                    return False
        return True


def _tell(attempts: list[dict[str, str]], latest: str) -> str:
    listing = json.dumps(attempts, indent=2, ensure_ascii=False)
    hint = DIVERSITY.format(tried=listing) + (f"The latest observation is: {latest}\n" if latest else "")
    return f"\n\n{hint.rstrip()}"


def dfsdt(question: str, documents: Sequence[Mapping[str, Any]], answers: Answers) -> Episode:
    search = _Search(question, documents, answers)
    yield from search.expand("", 0, "")
    return search.answer, search.actions


def sum2act(question: str, documents: Sequence[Mapping[str, Any]], answers: Answers) -> Episode:
    functions = Functions(documents, answers)
    head = f"{SYSTEM}{ROUTER}{USER}{functions.ask_for(question)}\n\n"
    manager = f"{SYSTEM}{STATE_MANAGER}{USER}Request: {question}\n\nCall: "
    aims, failures, results = [], [], []
    known_calls: set[tuple[str, bytes]] = set()
    actions: list[Row] = []
    for _ in range(STEPS):
        aim_lines, failure_lines, result_lines = "\n".join(aims), "\n".join(failures), "\n".join(results)
        state = f"Already solved:\n{aim_lines or 'nothing'}\nFailed calls:\n{failure_lines or 'none'}\nResults:\n"
        thought, name, argument_text = read((yield "router", f"{head}{state}{result_lines or 'none'}{ASSISTANT}"))
        arguments = orjson.loads(argument_text)
        if name == "Finish":
            answer = arguments.get("final_answer")
            actions.append((name, argument_text, "ok" if answer else "give_up", answer or ""))
            return answer, actions
        call = name, orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
        if call in known_calls:
            failures.append(f"- {name} {argument_text}: this call of {name} was made before")
            actions.append((name, argument_text, "repeated", ""))
            continue
        known_calls.add(call)
        body, status = functions.call(name, arguments)
        actions.append((name, argument_text, status, shorten(body, SHOWN)))
        call_text = (
            f"{name} {argument_text}\nPurpose: {thought}\nFunction: {functions.lines[name]}\n\n"
            f"Returned: {shorten(body, SHOWN_TO_MANAGER)}"
        )
        record = orjson.loads((yield "state_manager", f"{manager}{call_text}{ASSISTANT}"))
        if record["status"] == "success":
            aims.append(f"- {record['aim']}")
            results.append(f"- {name} {argument_text}: {record['answer']}")
        else:
            failures.append(f"- {name} {argument_text}: {record['reason']}")
    return None, actions


SCRIPTS: Mapping[str, Callable[[str, Sequence[Mapping[str, Any]], Answers], Episode]] = {
    "dfsdt": dfsdt,
    "sum2act": sum2act,
}
