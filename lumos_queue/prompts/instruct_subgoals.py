"""Read subgoals in replies of instruct models, which write them in Markdown, on several lines and as whole plans.

The reader prefers entries in this order: `Subgoal 2: …`; `Subgoal: …` without a number; items of a numbered list, or
`Step 2: …`; items of another list; free text without a preamble. Entries may be in emphasis, headings, lists and code
fences. A subgoal is rewritten as `Subgoal 2: …` on one line, the notation of LUMOS.

Reading never raises and takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from lumos_queue.notation import VARIABLE, says_stop, without_roles
from lumos_queue.prompts.reply_lines import ReplyLine, put_on_one_line, read_lines, remove_emphasis
from lumos_queue.records import Subgoal

_SUBGOAL = r"(?:(?:next|new|current|first|final|last)[ \t]{1,3})?sub-?[ \t]?goal"
_LABEL = re.compile(
    rf"{_SUBGOAL}[ \t]{{0,3}}(?:#|no\.?|number)?[ \t]{{0,3}}([0-9]{{1,3}})[ \t]{{0,3}}"
    r"(?:\([^()]{0,60}\)[ \t]{0,3})?(?:[:：]|[–—.)-]+(?=[ \t]|$)|$)[ \t]*+",
    re.IGNORECASE,
)
_NAME = re.compile(
    rf"(?:(?:here(?:['’]s| is)|this is)[ \t]{{1,3}})?(?:(?:the|my|our)[ \t]{{1,3}})?{_SUBGOAL}"
    r"(?:[ \t]{0,3}[:：]|[ \t]{1,3}(?:is|will be|would be|should be)(?:[ \t]{1,3}to\b|[ \t]{0,3}:))[ \t]*+",
    re.IGNORECASE,
)
_ACTIONS = r"[*_]{0,3}actions?[*_]{0,3}:"
_WITHIN_LINE = re.compile(
    r"(?<=[.;:!?)*])[ \t]++(?=[*_]{0,3}(?:next )?sub-?goal[ \t]{0,3}#?[0-9]{1,3}[*_]{0,3}[ \t]{0,3}[:：]|"
    rf"{_ACTIONS})|(?<=\S)[ \t]++(?={_ACTIONS}[*_`]{{0,3}}[ \t]{{0,3}}[*_`]{{0,3}}{VARIABLE})",
    re.IGNORECASE,
)
_ACTION = re.compile(
    rf"(?:[a-z]{{2,12}}[ \t])?actions?\b[^:=]{{0,40}}:|`{{0,3}}{VARIABLE}`{{0,3}}(?:,|[ \t]*+=)", re.IGNORECASE
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=\S)")
_STOPS = re.compile(
    r"(?:yes\b[,.:;!]?[ \t]*+)?(?:(?:I|we)(?:['’]ll|[ \t]+(?:will|should|can|shall|may|must|could)(?:[ \t]+now)?)|"
    r"let(?:['’]?s| us))[ \t]+stop(?:[ \t]+the)?[ \t]+planning|"
    r"[^.!?]{0,80}?(?:\bnot|n['’]t|\bno longer)[ \t]+need[ \t]+(?:to[ \t]+(?:continue|keep|go on)[ \t]+)?"
    r"(?:any[ \t]+)?(?:more[ \t]+|further[ \t]+)?planning",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"should we stop planning\?[ \t]*+", re.IGNORECASE)
_YES = re.compile(r"yes\b(?![^.!?]{0,80}(?:keep|continue|not stop|next subgoal))", re.IGNORECASE)
_KEEPS = re.compile(
    r"(?:no\b[,.:;!]?[ \t]*+)?(?:I|we|let['’]?s)\b[^.!?:]{0,60}?\b(?:keep|continue|stop)(?:[ \t]+the)?[ \t]+planning\b"
    r"[^.!?:;,]{0,20}(?:[.!:;,]\s*+|$)|no\b(?:[,.:;!]\s*+|$)",
    re.IGNORECASE,
)
_COURTESY = re.compile(r"(?:sure|certainly|of course|okay|ok|great|absolutely)[,.!]\s++", re.IGNORECASE)
_PREAMBLE = re.compile(r"(?:sure|certainly|of course|here(?: is|['’]s| are))\b(?:.*[:!]|[^.:]{0,40}\.)", re.IGNORECASE)
_REPEATED_LABELS = 3  #: that are taken off a subgoal, as in `Subgoal 2: Subgoal 2: …`
_ENDS = (".", "!", "?", ":", ";", "。")


class _Kind(IntEnum):
    """The ways in which an entry is marked as a subgoal, from the clearest to the least clear."""

    LABELLED = 0
    NAMED = 1
    NUMBERED = 2
    ITEM = 3
    FREE = 4


@dataclass(slots=True)
class _Entry:
    kind: _Kind
    number: int  #: 0: it has none
    parts: list[str]
    line: ReplyLine
    paragraph: int

    @property
    def opens(self) -> bool:
        """Whether the entry ends with a colon, so that its details or the subgoals that it announces follow below."""
        return self.parts[0].endswith(":")

    @property
    def text(self) -> str:
        """The subgoal on one line; '' if the entry has neither a letter nor a digit."""
        text = put_on_one_line(without_roles(" ".join(self.parts).replace("`", "")))
        text = " ".join(part for part in _SENTENCES.split(text) if not _STOPS.match(part)).rstrip(";: ")
        return text if any(map(str.isalnum, text)) else ""


@dataclass(frozen=True, slots=True)
class PlannerReply:
    """The content of a planner's reply: a stop, the next subgoal, or nothing."""

    subgoal: Subgoal | None = None
    stops: bool = False


def read_next_subgoal(reply: str, number: int) -> PlannerReply:
    """Return the subgoal `number` of a planner's reply, which may also repeat earlier subgoals and plan later ones.

    If no entry has that number, the next higher number counts, or else the last entry, because a planner may count from
    1 each time. If a reply stops but has an entry `Subgoal N: …` of this or a higher number, it does not stop.
    """
    entries = _read_entries(reply)
    labelled_entries = [entry for entry in entries if entry.kind == _Kind.LABELLED and entry.text]
    if not any(entry.number >= number for entry in labelled_entries) and _stops(reply, number):
        return PlannerReply(stops=True)
    for kind in _Kind:
        if candidates := _select(entries, kind):
            return PlannerReply(_number(_choose(candidates, number), number))
    return PlannerReply()


def read_whole_plan(reply: str) -> tuple[Subgoal, ...]:
    """Return the subgoals of a whole plan, numbered anew in order. Repeated entries are left out."""
    entries = _read_entries(reply)
    kinds = {kind: _distinct(_select(entries, kind)) for kind in _Kind}
    if len(kinds[_Kind.NAMED]) == 1 and kinds[_Kind.NUMBERED]:  # it says what the plan is for, or is one of its items
        list_entries = [replace(entry, kind=_Kind.NUMBERED) if entry.line.number else entry for entry in entries]
        kinds = {_Kind.NUMBERED: _distinct(_select(list_entries, _Kind.NUMBERED))}
    plan = next(filter(None, kinds.values()), [])
    return tuple(_number(entry, number) for number, entry in enumerate(plan, start=1))


def read_label(text: str) -> tuple[int, str] | None:
    """Return the number in a label `Subgoal 2:` and the text after the label; None for a text without such a label."""
    label = _LABEL.match(text)
    return (int(label[1]), text[label.end() :]) if label else None


def split_labels(text: str) -> list[str]:
    """Split a line in front of the labels of subgoals and actions that are within it."""
    return [piece for piece in _WITHIN_LINE.split(text) if piece.strip()]


def _number(entry: _Entry, number: int) -> Subgoal:
    return Subgoal(number, f"Subgoal {number}: {entry.text}")


def _choose(entries: Sequence[_Entry], number: int) -> _Entry:
    if entries[0].kind in (_Kind.NAMED, _Kind.FREE):
        return entries[0]
    numbers = [entry.number or position for position, entry in enumerate(entries, start=1)]
    if number in numbers:
        return entries[numbers.index(number)]
    return next(
        (entry for entry, label_number in zip(entries, numbers, strict=True) if label_number > number), entries[-1]
    )


def _select(entries: Sequence[_Entry], kind: _Kind) -> list[_Entry]:
    """Return the entries of a kind, without nested items of lists, and only the first paragraph of free text."""
    selected_entries = [entry for entry in entries if entry.kind == kind and entry.text]
    if kind in (_Kind.NUMBERED, _Kind.ITEM):
        least = min((entry.line.indent for entry in selected_entries), default=0)
        return [entry for entry in selected_entries if entry.line.indent == least]
    if kind == _Kind.FREE:
        selected_entries = [entry for entry in selected_entries if not entry.opens] or selected_entries
        return [entry for entry in selected_entries if entry.paragraph == selected_entries[0].paragraph]
    return selected_entries


def _distinct(entries: list[_Entry]) -> list[_Entry]:
    """Return the first entry of each number, or of each text if all have the same number, as in a list of `1.`."""
    by_text = len({entry.number for entry in entries}) == 1
    first: dict[str | int, _Entry] = {}
    for entry in entries:
        first.setdefault(entry.text if by_text else entry.number, entry)
    return list(first.values())


def _stops(reply: str, number: int) -> bool:
    """Whether the reply ends the planning. After the first turn, in which nobody asks about it, `Yes` is enough."""
    if says_stop(remove_emphasis(reply)):
        return True
    lines = [text for line in read_lines(reply) if (text := _QUESTION.sub("", line.text, count=1))]
    if number > 1 and lines and _YES.match(lines[0]):
        return True
    return any(_STOPS.match(sentence) for line in lines for sentence in _SENTENCES.split(line))


def _read_entries(reply: str) -> list[_Entry]:
    entries: list[_Entry] = []
    current: _Entry | None = None
    paragraph = 0
    for line in read_lines(reply):
        paragraph += not line.text
        for index, piece in enumerate(split_labels(line.text)):
            entry = _read_entry(piece, line if index == 0 else ReplyLine(piece, piece), paragraph)
            if _ACTION.match(piece):
                current = None
            elif current and _continues(current, line, entry, paragraph):
                current.parts[-1] += (
                    ";" if line.is_item and any(current.parts) and not current.parts[-1].endswith(_ENDS) else ""
                )
                current.parts.append(piece)
            elif entry:
                entries.append(entry)
                current = entry
    return entries


def _continues(entry: _Entry, line: ReplyLine, previous: _Entry | None, paragraph: int) -> bool:
    """Whether a line continues an entry: with the text below its label, with details after a colon, or a sentence."""
    if line.is_heading or (previous and previous.kind < _Kind.NUMBERED):
        return False
    if not any(entry.parts):
        return True
    if paragraph != entry.paragraph or line.fence != entry.line.fence:
        return False
    if entry.opens:
        return entry.kind != _Kind.FREE and (line.indent > entry.line.indent or not line.number)
    return not line.is_item and not entry.parts[-1].endswith(_ENDS)


def _read_entry(piece: str, line: ReplyLine, paragraph: int) -> _Entry | None:
    """Return the entry in a piece of a line; None for a preamble, a heading, and the words that planning continues."""
    piece = piece.strip()
    number, text = 0, piece
    for _ in range(_REPEATED_LABELS):
        number, text = read_label(text) or (number, text)
    if text is not piece:
        return _Entry(_Kind.LABELLED, number, [text], line, paragraph)
    for _ in range(_REPEATED_LABELS):
        text = text[name.end() :] if (name := _NAME.match(text)) else text
    if text is not piece:
        return _Entry(_Kind.NAMED, line.number, [text], line, paragraph)
    if line.number:
        return _Entry(_Kind.NUMBERED, line.number, [piece], line, paragraph)
    for beside in (_COURTESY, _QUESTION, _KEEPS):
        if match := beside.match(piece):
            piece = piece[match.end() :]
    if not piece or line.is_heading or _PREAMBLE.fullmatch(piece):
        return None
    return _Entry(_Kind.ITEM if line.is_item else _Kind.FREE, 0, [piece], line, paragraph)
