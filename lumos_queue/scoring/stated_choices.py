"""Read the letter of the choice that a statement or line names. letters.py reads the text after its leading words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.scoring.answer_markup import PlainReply
from lumos_queue.scoring.answer_statements import Statement
from lumos_queue.scoring.letters import LETTERS, read_choice

MAX_LINES = 50  #: the last lines of a reply in which a choice is looked for
_DOLLAR = re.compile(r"\$(?![0-9])")
_NAMES_LETTERS = re.compile(r"(?<![\w'’])[A-H](?![\w'’])")
_LED = re.compile(
    r"^(?:(?:so|therefore|thus|hence|overall|in conclusion|finally|as a result|consequently|based on [^,.]{1,80})\b"
    r"[, ]*)+",
    re.IGNORECASE,
)
#: A letter, or a letter marked by a bracket, a dot or a colon, with what follows.
_MARKED = re.compile(
    r"(?:(?:option|choice|answer)[ :]{0,3})?[(\[]?([A-Ha-h])(?:[)\].:]{1,3}(?:[ ].{0,300})?)?", re.IGNORECASE
)
_MARKED_BEFORE = re.compile(r"[(\[]?[A-H][)\].:]{1,3}[ ]")


def read_stated_choice(statement: Statement, choices: Sequence[str]) -> tuple[bool, str | None]:
    """Return whether a statement is about choices, and the letter; None instead of the letter if it names several."""
    if statement.is_whole:
        letters = {_read_line(line, choices) for line in statement.text.split("\n")}
        says = letters != {None} or bool(_NAMES_LETTERS.search(statement.text))
        return says, letters.pop() if len(letters) == 1 else None
    for start, end in statement.bold[:1]:
        if not statement.text[:start].strip(" \"'(") and (letter := _read_line(statement.text[start:end], choices)):
            return True, letter
    letter = _read_line(statement.text, choices)
    return letter is not None or bool(_NAMES_LETTERS.search(statement.text)), letter


def read_choice_lines(reply: PlainReply, choices: Sequence[str], cut: bool) -> str | None:
    """Return the letter of the first line, if the line is only an answer; else of the last line that names a choice."""
    lines = [line.strip() for line in reply.text.split("\n") if line.strip()]
    if not lines:
        return None
    if (len(lines) > 1 or not cut or _MARKED_BEFORE.match(lines[0])) and (letter := _read_marked(lines[0], choices)):
        return letter
    for line in () if cut else reversed(lines[-MAX_LINES:]):
        if letter := _read_line(line, choices):
            return letter
        if len(_NAMES_LETTERS.findall(line)) > 1:
            return None
    return None


def _read_line(line: str, choices: Sequence[str]) -> str | None:
    """Return the letter of the choice that a line means; None for a letter without a choice, if choices are known."""
    line = _LED.sub("", _DOLLAR.sub("", line).strip())
    index = read_choice(line, choices or LETTERS)
    return None if index is None else LETTERS[index]


def _read_marked(line: str, choices: Sequence[str]) -> str | None:
    """Return the letter of a line that is only a letter, a marked letter with its choice, or a choice."""
    line = _DOLLAR.sub("", line).strip(" \"'“”.")
    match = _MARKED.fullmatch(line)
    if match and LETTERS.index(match[1].upper()) < len(choices or LETTERS):
        return match[1].upper()
    return _read_line(line, choices) if len(line) <= max(map(len, choices), default=0) + 8 else None
