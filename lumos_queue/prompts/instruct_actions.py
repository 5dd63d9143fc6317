"""Read actions in replies of instruct models, which write them in Markdown, among prose and on several lines.

An action begins with `R1 = ` at the start of a line, after marks of lists, emphasis and code and a label such as
`Action:`. In a reply without such a line, an action may also be a call within prose. An action ends with its call; a
result, a comment or prose after the call is not part of it. An action runs as it is written or not at all: a call that
is followed by a further operand is an unreadable action, and so is a call without a variable beside other actions. A
reply without any action is an unreadable action, as in notation.py.

If a reply has actions below the labels of several subgoals, the current subgoal's actions count. An action that a later
block of the reply repeats counts once. Reading never raises and takes linear time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lumos_queue.notation import VARIABLE, find_closing, read_action, represent_rest
from lumos_queue.prompts.instruct_subgoals import read_label, split_labels
from lumos_queue.prompts.reply_lines import ReplyLine, put_on_one_line, read_lines, remove_emphasis
from lumos_queue.records import Action

MAX_SHOWN = 300  #: characters that are kept of what cannot be read

_MARKS = "[*_`]{0,3}"
_VARIABLES = rf"{VARIABLE}(?:,[ \t]{{0,3}}{VARIABLE}){{0,9}}"
_ASSIGNMENT = rf"{_VARIABLES}{_MARKS}[ \t]{{0,3}}=(?!=)"
_START = re.compile(rf"({_MARKS})({_VARIABLES}){_MARKS}[ \t]{{0,3}}=(?!=)[ \t]*+({_MARKS})")
_BETWEEN = re.compile(rf";[ \t]{{0,3}}(?={_MARKS}{_ASSIGNMENT})")
_NEXT = re.compile(rf"{_MARKS}[,.;]?[ \t]{{1,3}}(?:and[ \t]{{1,3}}|then[ \t]{{1,3}})?(?={_MARKS}{_ASSIGNMENT})")
_CALL = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*){_MARKS}[ \t]?\(")
_CLOSING = re.compile(r"[*_`]++")
_FOLLOWED = re.compile(
    r"[ \t]*+(?:[-+/^%×÷<>]|\*{1,2}(?!\*))=?[ \t]*+"
    rf"(?:{VARIABLE}\b|[0-9.(]|[A-Za-z_][A-Za-z0-9_]*\()"
)
_LABEL = re.compile(
    rf"{_MARKS}(?:[a-z]{{2,12}}[ \t]){{0,2}}actions?(?:[ \t]{{1,3}}(?:for|of)[ \t]{{1,3}}(?:the[ \t])?sub-?goal)?"
    rf"(?:[ \t]{{0,3}}#?([0-9]{{1,3}})(-[0-9]{{1,3}})?)?{_MARKS}[ \t]{{0,3}}[:：]{_MARKS}[ \t]*+",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:[a-z]{2,12}[ \t]){0,3}actions?[ \t]{1,3}(?:for|of|to)[ \t]{1,3}(?:the[ \t])?"
    r"sub-?goal[ \t]{0,3}#?([0-9]{1,3})\b",
    re.IGNORECASE,
)
_CALL_IN_PROSE = re.compile(
    rf"(?<![A-Za-z0-9_.])(?={_ASSIGNMENT}[ \t]{{0,3}}{_MARKS}[A-Za-z_][A-Za-z0-9_]{{0,60}}{_MARKS}[ \t]?\()"
)
_CODE_IN_PROSE = re.compile(rf"(?=`{_ASSIGNMENT})")
_ATTEMPT = re.compile(
    rf"{_MARKS}(?:[A-Za-z_][A-Za-z0-9_]{{0,40}}[ \t]{{0,3}}[=:][ \t]{{0,3}})?{_MARKS}([A-Za-z_][A-Za-z0-9_]{{0,60}})\("
)
_ATTEMPT_ENDS = re.compile(r"[*_`;.,\s]*+(?:[=#].*)?")
_WORDS = re.compile(r"[A-Za-z]{2,60} {1,3}[A-Za-z]{2}")
_COMMENTS = {True: "#", False: "--"}  #: by whether actions are calls: what ends a line for who reads it on one line
_SHOWS_VALUE = "print"  #: a call that does nothing here


@dataclass(frozen=True, slots=True)
class _Statement:
    action: Action
    section: int = 0  #: the subgoal that the label above it names; 0: none
    block: int = 0  #: the same for those that nothing is between
    is_attempt: bool = False  #: a call without a variable


def read_instruct_actions(
    reply: str, calls: bool = True, max_actions: int = 0, *, subgoal: int = 0, primer: str = "", must_act: bool = True
) -> tuple[Action, ...]:
    """Return the actions of a grounder's reply in order.

    `calls` and `max_actions` are arguments of `read_actions`. `subgoal`: the number of the current subgoal; 0: the
    reply grounds all subgoals. `primer`: the beginning of the reply that its prompt has, such as `R1 = `. `must_act`:
    whether a reply without an action is an unreadable action.
    """
    lines = list(read_lines(reply))
    if primer and lines and _ATTEMPT.match(lines[0].body) and not _START.match(lines[0].body):
        lines[0] = replace(lines[0], body=f"{primer}{lines[0].body}")
    statements = list(_Reader(lines, calls).read())
    if all(statement.is_attempt for statement in statements):
        must_act = must_act or bool(statements)
        statements = list(_read_prose(lines, calls))
    if not statements:
        text = " ".join(line.body for line in lines)
        return (_refuse(text),) if must_act and text.strip() else ()
    actions = list(_select(statements, subgoal))
    if max_actions and len(actions) > max_actions:
        rest = "; ".join(action.raw for action in actions[max_actions : max_actions + 3])
        return (*actions[:max_actions], represent_rest(len(actions), rest))
    return tuple(actions)


def _select(statements: Sequence[_Statement], subgoal: int) -> Iterator[Action]:
    """Yield the actions of the current subgoal, except repetitions in a later block and explanations of variables."""
    sections = {statement.section for statement in statements}
    section = next((number for number in (subgoal, 0) if subgoal and number in sections), None)
    has_calls = any(statement.action.name for statement in statements)
    blocks: dict[tuple[object, ...], int] = {}
    for statement in statements:
        action = statement.action
        if section not in (None, statement.section):
            continue
        if has_calls and action.variables and not action.name and _WORDS.search(action.arguments):
            continue  # `R1 = the number of jars`, beside what computes it
        key = (action.variables, action.name, action.arguments)
        if blocks.setdefault(key, statement.block) == statement.block:
            yield action


def _refuse(text: str) -> Action:
    """Return an unreadable action. Its text is shortened and on one line, because it is sent to models."""
    excerpt = put_on_one_line(text)
    excerpt = f"{excerpt[:MAX_SHOWN]}…" if len(excerpt) > MAX_SHOWN else excerpt
    return Action((), "", excerpt, excerpt)


class _Reader:
    """Reads the lines of a reply, each once."""

    def __init__(self, lines: Sequence[ReplyLine], calls: bool):
        self._lines, self._calls = lines, calls
        self._next = 0  #: index of the line that comes next
        self._section = self._block = self._fence = 0

    def read(self) -> Iterator[_Statement]:
        while self._next < len(self._lines):
            line = self._lines[self._next]
            self._next += 1
            if line.fence != self._fence:
                self._fence, self._block = line.fence, self._block + 1
            pieces = [line.body] if _START.match(line.body) else split_labels(line.body)
            for number, piece in enumerate(pieces, start=1):
                yield from self._read_piece(piece, line, number == len(pieces))

    def _read_piece(self, piece: str, line: ReplyLine, is_last: bool) -> Iterator[_Statement]:
        text = remove_emphasis(piece)
        section, begin = self._section, 0
        if label := read_label(text):
            self._section, self._block = label[0], self._block + 1
            section, piece = self._section, label[1]
        elif heading := _SECTION.match(text):
            self._section, self._block = int(heading[1]), self._block + 1
            section = self._section
        if action_label := _LABEL.match(piece):
            begin = action_label.end()
            section = int(action_label[1]) if action_label[2] else section
        if _START.match(piece, begin):
            for action in self._read_statements(piece[begin:], line, is_last):
                yield _Statement(action, section, self._block)
            return
        self._block += 1
        if self._calls and _is_attempt(piece, begin):
            yield _Statement(_refuse(piece[begin:]), section, self._block, is_attempt=True)

    def _read_statements(self, text: str, line: ReplyLine, is_last: bool) -> Iterator[Action]:
        begin = 0
        for between in _BETWEEN.finditer(text):
            yield from _read_assignments(text[begin : between.start()], self._calls)
            begin = between.end()
        parts = [text[begin:]]
        if is_last and (line.fence if not self._calls else _depth(parts[0]) > 0):
            parts = self._extend(parts[0], line)
            self._next += len(parts) - 1
        if any(_COMMENTS[self._calls] in part for part in parts[:-1]):
            yield _refuse(" ".join(parts))  # on one line, what follows the comment would not run
        else:
            yield from _read_assignments(" ".join(filter(None, parts)), self._calls)

    def _extend(self, text: str, line: ReplyLine) -> list[str]:
        """Return the text and the lines that belong to it: those of a query in code, or those up to the end of a call.

        If its call has no end, return only the text.
        """
        parts, depth = [text], _depth(text)
        for index in range(self._next, len(self._lines)):
            following_line = self._lines[index]
            if (
                following_line.fence != line.fence
                or not (following_line.text or following_line.fence)
                or _begins(following_line)
            ):
                break
            parts.append(following_line.written)  # a sign in front of it is no mark of a list
            depth += _depth(following_line.written)
            if self._calls and depth <= 0:
                break
        return [text] if self._calls and depth > 0 else parts


def _begins(line: ReplyLine) -> bool:
    return bool(_START.match(line.body) or _LABEL.match(line.body) or read_label(line.text))


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")


def _read_assignments(text: str, calls: bool) -> Iterator[Action]:
    """Yield the consecutive actions of a text that begins with `R1 = `."""
    begin = 0
    while start := _START.match(text, begin):
        variables = put_on_one_line(start[2])
        call = _CALL.match(text, start.end()) if calls else None
        if call is None:
            yield read_action(f"{variables} = {_read_rest(text, start, calls)}", calls)
            return
        end = find_closing(text, call.end())
        if end is None:
            yield read_action(f"{variables} = {call[1]}({text[call.end() :].strip()}")
            return
        behind = _CLOSING.match(text, end + 1)
        if _FOLLOWED.match(text, behind.end() if behind and (start[1] or start[3]) else end + 1):
            yield _refuse(text[begin:])
            return
        yield read_action(f"{variables} = {call[1]}({text[call.end() : end].strip()})")
        successor = _NEXT.match(text, end + 1)
        begin = successor.end() if successor else len(text)


def _read_rest(text: str, start: re.Match[str], calls: bool) -> str:
    """Return the rest of an assignment without a call, without the marks around it and without a comment."""
    if "`" in start[1]:
        return text[start.start(3) :].partition("`")[0].strip()
    rest = text[start.start(3) :].strip().rstrip(";").rstrip()
    if rest.startswith("`") and rest.find("`", 1) in (len(rest) - 1, len(rest) - 2):
        rest = rest[1:].partition("`")[0]
    if not calls:
        return rest.removesuffix(start[1]).rstrip()
    rest = rest.partition(" #")[0].strip()
    return rest.strip("*`").rstrip() if start[1] or start[3] else rest


def _read_prose(lines: Sequence[ReplyLine], calls: bool) -> Iterator[_Statement]:
    """Yield the complete calls within sentences; in domains whose actions are no calls, the texts in marks of code."""
    for line in lines:
        if line.fence:
            continue
        begins = [begin.start() for begin in (_CALL_IN_PROSE if calls else _CODE_IN_PROSE).finditer(line.body)]
        for begin, end in itertools.pairwise([*begins, len(line.body)]):
            text = line.body[begin:end]
            if _depth(text) <= 0 or find_closing(text, text.index("(") + 1) is not None:
                yield from map(_Statement, _read_assignments(text, calls))


def _is_attempt(piece: str, begin: int) -> bool:
    """Whether a line is no sentence but a call without a variable, which the model wanted to run."""
    attempt = _ATTEMPT.match(piece, begin)
    if not attempt or attempt[1] == _SHOWS_VALUE:
        return False
    end = find_closing(piece, attempt.end())
    return end is not None and bool(_ATTEMPT_ENDS.fullmatch(piece, end + 1))
