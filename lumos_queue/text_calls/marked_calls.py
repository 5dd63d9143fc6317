r"""Read calls of instruct models, which write Markdown around labels, names and JSON, and use various labels.

    **Action:** `state_for_orders`
    **Action Input:**
    ```json
    {"number": 17}
    ```

A call is read exactly as it is written, or is unreadable. The first call of a text counts. These forms are readable:
- before a label: list marks (`-`, `*`, `+`, `•`), numbers (`1.`, `1)`), quotation marks (`>`) and headings (`#`);
- around a label: `*`, `_` and back quotes; behind it a number (`Action 1:`);
- labels of a name: `Action`; `Action Name`, `Tool`, `Function`, `Tool Name` and `Function Name` only with arguments;
- labels of arguments, behind a name: `Input`, `Arguments`, `Args`, `Parameters`, `Params` (also `Argument`, `Inputs`,
  `Parameter`), alone or after `Action`, `Tool` or `Function`, joined, or with a space, `_` or `-` between;
- a label ends in a colon, in `-`, `=`, `->` or `=>` between spaces, or with its line;
- around a name and around JSON: back quotes, code fences, `*`; around a name also quotation marks and brackets;
- `\_` in a name is `_`; a name may have `()` behind it;
- a JSON object right behind a name, also in parentheses: `f({"a": 1})`, `f: {"a": 1}`;
- `None`, `null` and `N/A` as the only arguments: no arguments;
- without a label, a JSON object that has one name and its arguments (`_NAME_KEYS`, `_INPUT_KEYS`), also as the value of
  its name (`{"function": {…}}`), as the first of a list, or in a tag (`<tool_call>`).

Text in some forms may be a draft within a thought: a sentence behind `Action:`, a label other than `Action:`, arguments
that are no JSON object, and JSON without a label. A draft counts only if no other call follows. A call behind an
observation that the model invented counts only if no call, readable or not, precedes the observation.

A name without text behind it, or with only an observation behind it, is a call without arguments, unless arguments are
written elsewhere. Any other text behind a name makes the call unreadable: it gets a `problem`.
Reading takes linear time and never raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

_MARKS = r"[ \t]*+(?:(?:[-*+•>]|#{1,6}|[0-9]{1,3}[.)])[ \t]++){0,3}+[*_`]{0,3}+"
_JOINT = r"(?:[ _-]|\\_)?"
_NUMBER = r"(?:[ \t]?(?:#?[0-9]{1,3}|\[[0-9]{1,3}\]))?+[*_`]{0,3}+"
_COLON = r"[ \t]*+[:：](?:\*{1,3}|_{2,3}|`(?=\s))?+"
_OTHER_END = r"(?:[ \t]++(?:[-–—=]|->|=>)[ \t]++|[ \t\r]*+$)"
_NAMES = rf"Action{_JOINT}Name|Action|(?:Tool|Function)(?:{_JOINT}Name)?"
_INPUTS = rf"(?:(?:Action|Tool|Function){_JOINT})?(?:Inputs?|Arguments?|Args|Parameters?|Params)"
_FENCE = r"(?:`{3,}|~{3,})(?:[ \t]*+[a-z_]{0,20}+[ \t\r]*+(?:\n|(?=\{)))?+\s*+"
_FLAGS = re.MULTILINE | re.IGNORECASE

_NAME_LABEL = re.compile(rf"^{_MARKS}({_NAMES}){_NUMBER}(?:({_COLON})|{_OTHER_END})", _FLAGS)
_OBSERVATION = re.compile(rf"^{_MARKS}Observation{_NUMBER}{_COLON}", _FLAGS)
_THOUGHT = re.compile(rf"\s*+(?:`{{3,}}[a-z]{{0,20}}\s++)?{_MARKS}Thoughts?{_NUMBER}(?:{_COLON}|[ \t\r]*+$)", _FLAGS)
_NEXT_LABEL = re.compile(rf"\s*+{_MARKS}(?:{_INPUTS}|Thoughts?|Observation){_NUMBER}{_COLON}", _FLAGS)
_BEFORE_NAME = re.compile(rf"\s*+(?:{_FENCE})?+[`\"'*\[]{{0,4}}+\s*+", _FLAGS)
_NAME = re.compile(r"(?:[\w.-]|\\_){1,100}")
_AFTER_NAME = re.compile(r"[`\"'*\]]{0,4}+(?:[ \t]?\([ \t]*+\))?+[`\"'*\]]{0,4}+")
_EXACT = re.compile(r"[ \t]*+Action[ \t]*+:[ \t]*+([^\s][^\n]*+)\n\s*+Action Input[ \t]*+:", _FLAGS)
_SENTENCE = re.compile(rf"\s*+{_MARKS}[\w'’-]+,? [^\W\d_]", _FLAGS)
_INPUT_LINE = re.compile(rf"^{_MARKS}(?:{_INPUTS}){_NUMBER}{_COLON}", _FLAGS)
_INPUT_BESIDE = re.compile(rf"[ \t`*\"'\]),;|]*+{_MARKS}(?:{_INPUTS}){_NUMBER}{_COLON}", _FLAGS)
_INPUT_BELOW = re.compile(
    rf"[ \t\r`*\"'\]),;|]*+\n[\s`]*+{_MARKS}(?:{_INPUTS}){_NUMBER}(?:{_COLON}|{_OTHER_END})", _FLAGS
)
_INPUT_JSON = re.compile(rf"\s*+(?:{_FENCE})?+[`*]{{0,3}}+\s*+(?=\{{)", _FLAGS)
_DIRECT_JSON = re.compile(rf"[ \t]*+(?:[(:,\[]|=>|->|=)?+\s*+(?:{_FENCE})?+[`*]{{0,3}}+\s*+(?=\{{)", _FLAGS)
_CLOSING = re.compile(r"[\s`*]*+[)\]]")
#: Where arguments end that are no JSON object.
_INPUT_END = re.compile(
    rf"^(?:[ \t]*+(?:Thought|Action(?: Input)?)[ \t]*+:|{_MARKS}Observation{_NUMBER}{_COLON})", _FLAGS
)
_FENCED = re.compile(rf"\s*+{_FENCE}", _FLAGS)
_LONE_JSON = re.compile(
    r"^[ \t]*+(?:(?:<[^<>\n]{1,30}>|\[TOOL_CALLS\]|`{3,}[a-z_ ]{0,20}+|`)[ \t]*+\n?+[ \t]*+)?"
    r"(?:\[[ \t]*+\n?+[ \t]*+)?(?=\{)",
    _FLAGS,
)
_DECODER = json.JSONDecoder(strict=False)  # line breaks within strings are common
_SPACE = re.compile(r"\s*+")
_NOTHING = ("none", "null", "n/a")  #: arguments that are none
_IGNORED = " \t\r\n`*_-#>~"  #: characters behind a name that say nothing

#: Keys of a JSON decision, in lower case and without spaces, `_` and `-`.
_NAME_KEYS = frozenset({"action", "actionname", "name", "tool", "toolname", "toolcalls", "function", "functionname"})
_INPUT_KEYS = frozenset(
    label + word
    for label in ("", "action", "tool", "function")
    for word in ("input", "arguments", "args", "parameters", "params")
)
_THOUGHT_KEYS = frozenset({"thought", "thoughts"})
MAX_OBJECTS = 3  #: JSON objects without a label that are looked at, before each observation
MAX_DEPTH = 2  #: objects around that of a JSON decision
MAX_QUOTE = 80  #: characters of the text that a problem quotes


@dataclass(frozen=True, slots=True)
class MarkedCall:
    """A call, or text that looks like a call and is unreadable."""

    start: int  #: where it begins in the text
    name: str
    arguments: str  #: as written
    problem: str = ""  #: why it cannot be read: no function may be called
    thought: str = ""  #: the thought that is in a JSON decision


def find_call(text: str) -> MarkedCall | None:
    """Return the first call of a text; None if no text looks like a call.

    Text after an observation is read only if no text before it looks like a call.
    """
    labels = list(_NAME_LABEL.finditer(text))
    ends = [match.start() for match in _OBSERVATION.finditer(text)]
    start = first = 0
    for end in (*ends, len(text)):
        last = first
        while last < len(labels) and labels[last].start() < end:
            last += 1
        call = _find_labelled(text, start, end, labels[first : last + 1], last - first)
        if call := call or _find_decision(text, start, end):
            return call
        start, first = end, last
    return None


def read_thought(text: str) -> str:
    """Return the text before a call, without the label `Thought` and without the code fence of the call."""
    label = _THOUGHT.match(text)
    thought = text[label.end() if label else 0 :].rstrip()
    before, _, line = thought.rpartition("\n")
    is_open = text.count("```") % 2 == 1
    return (before if is_open and line.lstrip().startswith("```") else thought).strip()


def find_input(text: str, position: int) -> tuple[int, int, int] | None:
    """Return three positions of the input after a name: its start, the end of its JSON object, the end of its brackets.

    The input is on the line of the name or below it: bare, in brackets, in a code fence, or after a label. Return None
    if no input follows. An input that is not a JSON object, or has an open bracket, ends where it begins.
    """
    position = _skip(_AFTER_NAME, text, position)
    label = _INPUT_BESIDE.match(text, position) or _INPUT_BELOW.match(text, position)
    match = _INPUT_JSON.match(text, label.end()) if label else _DIRECT_JSON.match(text, position)
    if match is None:
        return (label.end(), label.end(), label.end()) if label else None
    begin, end = match.end(), _find_end(text, match.end())
    is_open = not label and match[0].lstrip().startswith(("(", "["))
    closing_match = _CLOSING.match(text, end) if end is not None and is_open else None
    if end is None or (is_open and closing_match is None):
        return begin, begin, begin
    return begin, end, closing_match.end() if closing_match else end


def _find_labelled(text: str, start: int, end: int, labels: Sequence[re.Match[str]], count: int) -> MarkedCall | None:
    """Return the first call at the first `count` labels, which are between `start` and `end`; None if there is none.

    The call may have a problem. Drafts are skipped if a call follows.
    """
    drafts: list[MarkedCall] = []
    for index, label in enumerate(labels[:count]):
        call = _read_labelled(text, start, label, labels[index + 1] if index + 1 < len(labels) else None)
        if call is not None and not _is_draft(text, label, call):
            return call
        drafts += [call] if call else []
    if not drafts:
        return None
    return next((call for call in drafts if _is_object(call.arguments)), None) or (
        _find_decision(text, start, end) or drafts[0]
    )


def _is_draft(text: str, label: re.Match[str], call: MarkedCall) -> bool:
    if _EXACT.match(text, label.start()):
        return False
    if not _is_plain(label):
        return True
    if call.problem:
        return _SENTENCE.match(text, label.end()) is not None
    return bool(call.arguments.strip()) and not _is_object(call.arguments)


def _is_plain(label: re.Match[str]) -> bool:
    return label[1].lower() == "action" and label[2] is not None


def _is_object(arguments: str) -> bool:
    return arguments.startswith("{") and _find_end(arguments, 0) is not None


def _read_labelled(text: str, start: int, label: re.Match[str], next_label: re.Match[str] | None) -> MarkedCall | None:
    """Return the call at a label; None if no name follows it, or if the next label has the same name."""
    end = next_label.start() if next_label else len(text)
    exact = _EXACT.match(text, label.start())
    begin = _skip(_BEFORE_NAME, text, label.end())
    if begin >= end or _NEXT_LABEL.match(text, label.end()):
        return None
    if text[begin] == "{":
        return _read_decision(text, begin, label.start()) or _unreadable(text, label.start(), begin)
    match = _NAME.match(text, begin)
    if match is None:
        return _unreadable(text, label.start(), begin)
    name, behind = match[0].replace("\\_", "_"), _skip(_AFTER_NAME, text, match.end())
    if _DIRECT_JSON.match(text, behind):
        return _read_direct(text, label.start(), begin, name, behind)
    if input_match := _INPUT_BESIDE.match(text, behind) or _INPUT_BELOW.match(text, behind):
        return MarkedCall(label.start(), name, _read_arguments(text, input_match.end(), len(text) if exact else end))
    if not _is_plain(label):
        return _unreadable(text, label.start(), begin)
    if exact:  # what is more than a name is the name of no function
        name = exact[1].strip("`\"' \t\r")
        return MarkedCall(label.start(), name, _read_arguments(text, exact.end(), len(text)))
    observation = _OBSERVATION.search(text, behind, end)
    if text[behind : observation.start() if observation else end].strip(_IGNORED):
        return _unreadable(text, label.start(), begin)
    if next_label and not observation and _is_named(text, next_label, name):
        return None
    if _INPUT_LINE.search(text, behind, end) or any(
        pattern.search(text, start, label.start()) for pattern in (_INPUT_LINE, _LONE_JSON)
    ):
        return MarkedCall(label.start(), "", "", f"the arguments of '{_quote(name)}' are not behind its name")
    return MarkedCall(label.start(), name, "")


def _is_named(text: str, label: re.Match[str], name: str) -> bool:
    """Whether this name is directly behind a label."""
    match = _NAME.match(text, _skip(_BEFORE_NAME, text, label.end()))
    return match is not None and match[0].replace("\\_", "_") == name


def _read_direct(text: str, start: int, begin: int, name: str, position: int) -> MarkedCall:
    """Return the call of a name that has a JSON object directly behind it."""
    first, end, after = find_input(text, position) or (0, 0, 0)
    if end == first:
        return _unreadable(text, start, begin)
    if _INPUT_BESIDE.match(text, after) or _INPUT_BELOW.match(text, after):
        return MarkedCall(start, "", "", f"the arguments of '{_quote(name)}' are written twice")
    return MarkedCall(start, name, text[first:end])


def _read_arguments(text: str, position: int, limit: int) -> str:
    """Return the arguments behind a label: a JSON object, else a code block, else the text up to the next label."""
    match = _INPUT_JSON.match(text, position)
    if match and (end := _find_end(text, match.end())) is not None:
        return text[match.end() : end]
    if fence := _FENCED.match(text, position):
        position = fence.end()
        end = text.find(fence[0].strip()[:3], position, limit)
    else:
        label = _INPUT_END.search(text, position, limit)
        end = label.start() if label else limit
    arguments = text[position : limit if end < 0 else end].strip()
    return "" if arguments.strip(_IGNORED).lower() in _NOTHING else arguments


def _find_decision(text: str, start: int, end: int) -> MarkedCall | None:
    """Return the call of the first JSON object that begins a line and states a call; None if there is none."""
    for _ in range(MAX_OBJECTS):
        match = _LONE_JSON.search(text, start, end)
        after = _find_end(text, match.end()) if match else None
        if match is None or after is None:
            return None
        if call := _read_decision(text, match.end(), match.start()):
            return call
        start = after
    return None


def _read_decision(text: str, position: int, start: int) -> MarkedCall | None:
    """Return the call of a JSON object with one name and its arguments; None for an object of another form.

    In place of the name, the object may have another object of this form.
    """
    thought = ""
    for _ in range(1 + MAX_DEPTH):
        members = _read_members(text, position)
        names, inputs, thoughts = (
            [member for member in members if member.key in keys] for keys in (_NAME_KEYS, _INPUT_KEYS, _THOUGHT_KEYS)
        )
        if len(thoughts) == 1 and isinstance(thoughts[0].value, str):
            thought = thoughts[0].value.strip()
        if len(names) != 1:
            return None
        name = names[0].value
        if isinstance(name, str):
            return _call_of_members(name, inputs, start, thought)
        if inputs:
            return None
        position = _skip(_SPACE, text, names[0].start + isinstance(name, list))
    return None


def _call_of_members(name: str, inputs: Sequence[_Member], start: int, thought: str) -> MarkedCall | None:
    if len(inputs) != 1 or not _NAME.fullmatch(name):
        return None
    value = inputs[0].value
    if isinstance(value, dict):
        return MarkedCall(start, name, inputs[0].text, thought=thought)
    if value is None or isinstance(value, str):
        return MarkedCall(start, name, value or "", thought=thought)
    return None


class _Member(NamedTuple):
    """A member of a JSON object."""

    key: str  #: in lower case, without spaces, `_` and `-`
    value: Any
    start: int  #: where the value begins in the text
    text: str  #: of the value, as written


def _read_members(text: str, position: int) -> list[_Member]:
    """Return all members of the JSON object at `position`, even with equal keys; [] if there is no object."""
    members: list[_Member] = []
    if not text.startswith("{", position) or _find_end(text, position) is None:
        return []
    position = _skip(_SPACE, text, position + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        start = _skip(_SPACE, text, _skip(_SPACE, text, position) + 1)
        value, position = _DECODER.raw_decode(text, start)
        plain = key.lower().replace(" ", "").replace("_", "").replace("-", "")
        members.append(_Member(plain, value, start, text[start:position]))
        position = _skip(_SPACE, text, position)
        if text[position] == ",":
            position = _skip(_SPACE, text, position + 1)
    return members


def _find_end(text: str, position: int) -> int | None:
    """Return the end of the JSON value that begins at a position; None if no JSON value begins there."""
    try:
        return _DECODER.raw_decode(text, position)[1]
    except (ValueError, RecursionError):
        return None


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _unreadable(text: str, start: int, begin: int) -> MarkedCall:
    label = _INPUT_END.search(text, begin, begin + 2 * MAX_QUOTE)
    quote = _quote(text[begin : label.start() if label else begin + 2 * MAX_QUOTE])
    return MarkedCall(start, "", "", f"'{quote}' cannot be read as the name of one function and its arguments")


def _quote(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"
