"""Find the answer that a reply states: boxes, `####`, `The answer is …`, `Answer: …`, `"answer": …`, a heading
`Answer`.

A statement is the first line with text after such a marker. The readers of each kind of answer (answer_readers.py)
decide how much of the line counts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from lumos_queue.scoring.answer_markup import PlainReply, Span

MAX_STATEMENT = 1_000  #: characters of a statement that are read
MAX_MARKERS = 100  #: of each kind that are looked at: the last ones

_AUXILIARY = r"(?:is|are|was|were|equals|becomes|(?:would|should|will|must|has to|could|can)[ ]be)"
_DENIED = r"(?![ ]?(?:not|n['’]t|never|neither)\b|n['’]t)"
#: `answer`, what may stand between it and the answer, and what introduces the answer.
_MARKER = re.compile(
    rf"""\b(?:answers?|final[ ]result|final[ ]value)\b['’)\]]?
    (?:[ ](?:choice|option|letter|value|number)\b)?
    (?:[ ](?:to|for|of|in|from|here)\b(?:[ ][\w'’"#-]{{1,30}}){{0,8}}?(?:[ ]["“«][^"“”«»\n]{{0,300}}["”»])?)?
    (?:[ ]?\([^()\n]{{0,60}}\))?
    (?:,?[ ](?:then|therefore|thus|hence|so|simply|just|also|indeed|here|now)\b,?)?
    (?:[ ]?[:=：]|[ ]{_AUXILIARY}\b{_DENIED}(?:[ ](?:therefore|thus|then|hence|simply|just|indeed)\b)?[ ]?:?)""",
    re.IGNORECASE | re.VERBOSE,
)
#: Only where letters of choices are read: `The correct option is B`, `I choose (B)`.
_CHOICE_MARKER = re.compile(
    rf"""\b(?:(?:correct|right|best|final|appropriate|likely)[ ](?:choice|option|one|response)[ ]{_AUXILIARY}\b{_DENIED}
    |(?:choice|option)[ ]?:|(?:I|we)(?:['’]ll|[ ]would|[ ]will)?[ ](?:choose|pick|select)\b)[ ]?:?""",
    re.IGNORECASE | re.VERBOSE,
)
_HEADING = re.compile(
    r"^[ \t#>*_-]{0,12}(?:(?:the|my|your|short)[ ])?(?:(?:final|correct)[ ])?answer[ \t*_#]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_JSON = re.compile(r"(?<![A-Za-z])answer\"[ \n]{0,4}:[ \n]{0,4}\"?", re.IGNORECASE)
_JSON_END = re.compile(r"\"?[ ]{0,4}(?:,[ ]{0,4}(?=\n|\"[a-z_]{1,40}\"[ ]?:)|\n|\}|\Z)")
_HASHES = re.compile(r"^[ \t>*]{0,8}####[ \t]{0,8}", re.MULTILINE)
_BEFORE_TEXT = re.compile(r"[\s*_#>:=]*+(?:[-–—•][ \t])?[\s*_#>]*+")
#: A dot ends a sentence behind a word of three letters, a number or a bracket: `J. R. R. Tolkien`, `St. Louis` and
#: `U.S. troops` continue.
_ABBREVIATED = "".join(rf"(?<!\b{word})" for word in ("Mrs", "Inc", "Ltd", "Bros", "Prof", "Capt", "approx", "etc"))
_SENTENCE_END = re.compile(rf"(?:(?<=[^\W\d_]{{3}}){_ABBREVIATED}|(?<=[0-9)\]}}\"'’”%°$]))[.](?=\s|$)|[!?;](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a reply that states its answer."""

    start: int
    text: str
    bold: tuple[Span, ...] = ()  #: the bold parts of the text
    is_whole: bool = False  #: whether the answer is all of the text: a box, or what follows `####`
    is_last_line: bool = False
    is_value: bool = False  #: whether it is the value of a JSON object's `answer`, whose last sentence counts


def find_statements(reply: PlainReply, choices: bool = False, cut: bool = False) -> list[Statement]:
    """Return the statements in order. With `choices`, include phrases that name a choice: `I choose (B)`.

    `cut`: whether the reply ends at the limit of tokens. Then a statement that reaches the end of the reply may be
    incomplete, and is left out.
    """
    text = reply.text
    statements = [*_boxes(reply), *_hashes(text), *_values(text)]
    patterns = (_MARKER, _HEADING, _CHOICE_MARKER) if choices else (_MARKER, _HEADING)
    for pattern in patterns:
        for marker in deque(pattern.finditer(text), MAX_MARKERS):
            if (statement := _statement(reply, marker.end())) is not None:
                statements.append(statement)
    statements.sort(key=lambda statement: statement.start)
    return [statement for statement in statements if not (cut and _is_cut(text, statement))]


def last_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, the last one first."""
    start, sentences = 0, []
    for end in _SENTENCE_END.finditer(text):
        sentences.append(text[start : end.start()])
        start = end.end()
    return reversed([*sentences, text[start:]])


def sentence(text: str) -> str:
    """Return the first sentence of a line: up to a dot, `!`, `?` or a semicolon, if a space or the end follows."""
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text


def _boxes(reply: PlainReply) -> list[Statement]:
    """Return a statement for each line with boxes. Boxes on a line are an answer only if they are equal."""
    lines: dict[int, list[Span]] = {}
    line, position = 0, 0
    for start, end in reply.boxes[-MAX_MARKERS:]:
        line += reply.text.count("\n", position, start)
        position = start
        lines.setdefault(line, []).append((start, end))
    return [
        Statement(
            spans[-1][0],
            "\n".join(dict.fromkeys(reply.text[start:end].strip()[:MAX_STATEMENT] for start, end in spans)),
            is_whole=True,
        )
        for spans in lines.values()
    ]


def _hashes(text: str) -> list[Statement]:
    statements = []
    for marker in deque(_HASHES.finditer(text), MAX_MARKERS):
        end = text.find("\n", marker.end())
        line = text[marker.end() : len(text) if end < 0 else end]
        is_last = end < 0 or not text[end:].strip()
        if line.strip():
            statements.append(Statement(marker.end(), line[:MAX_STATEMENT].strip(), (), True, is_last))
    return statements


def _values(text: str) -> list[Statement]:
    """Return the answers in objects of JSON, such as `{"answer": "42 apples"}`."""
    statements = []
    for marker in deque(_JSON.finditer(text), MAX_MARKERS):
        line = text[marker.end() : marker.end() + MAX_STATEMENT]
        end = _JSON_END.search(line)
        statements.append(Statement(marker.end(), line[: end.start()] if end else line, is_value=True))
    return statements


def _statement(reply: PlainReply, start: int) -> Statement | None:
    """Return the statement after a marker: the rest of the marker's line, or the next line with text."""
    before = _BEFORE_TEXT.match(reply.text, start)
    start = before.end() if before else start
    end = reply.text.find("\n", start)
    line = reply.text[start : len(reply.text) if end < 0 else end][:MAX_STATEMENT].rstrip()
    if not line:
        return None
    bold = tuple((first - start, last - start) for first, last in _spans_within(reply.bold, start, start + len(line)))
    return Statement(start, line, bold)


def _spans_within(spans: tuple[Span, ...], start: int, end: int) -> list[Span]:
    first = bisect_left(spans, start, key=lambda span: span[0])
    return [span for span in takewhile(lambda span: span[0] < end, spans[first:]) if span[1] <= end]


def _is_cut(text: str, statement: Statement) -> bool:
    """Whether a statement reaches the end of a text that was cut, so that the rest of it may be missing."""
    if statement.is_whole and not statement.is_last_line:
        return False
    rest = text[statement.start :][: MAX_STATEMENT + 1]
    return len(rest) <= MAX_STATEMENT and "\n" not in rest and sentence(rest) == rest
