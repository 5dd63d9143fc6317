"""Read the answer of a model's reply with the reader `phrase` or `flexible`. Scorers only compare answers.

`phrase` reads replies as models trained by LUMOS write them. If a reply gives reasons, the answer is the text after the
last `answer is`, without its full stop. If a reply gives no reasons, the whole reply is the answer.

`flexible` reads replies of instruct models, through Markdown, LaTeX and HTML (answer_markup.py), by these rules:

1. The answer is in the last statement with content of the expected kind (answer_statements.py). A statement is a box,
   or it follows `####`, `the answer is`, `Answer:`, `"answer":`, `final result` or a heading `Answer`. If it has
   several different answers, there is no answer. If a number is expected and no statement has figures, the text of the
   last statement is the answer (`… is Ann.`), unless figures follow.
2. Without a statement, the first line is the answer if it has nothing else: a number with its unit, the letter of a
   choice or the choice, yes or no.
3. Otherwise the answer is the last number (stated_numbers.py), or that of the last line that names one choice, or yes
   or no.

If the limit of tokens cut a reply, rule 3 does not apply, because the last number may be missing, and a statement
counts only if text follows its sentence. A text answer is the text after the last statement's marker, or without a
statement the whole reply. Numbers are returned plainly (`9500`, `0.5`, `1/3`), choices as their letter, yes or no as
`Yes` or `No`. Every reply can be read, in time that is linear in its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_markup import PlainReply, plain_reply
from lumos_queue.scoring.answer_statements import Statement, find_statements, sentence
from lumos_queue.scoring.stated_choices import read_choice_lines, read_stated_choice
from lumos_queue.scoring.stated_numbers import last_number, read_spelled, read_stated, read_whole
from lumos_queue.scoring.stated_texts import read_text
from lumos_queue.scoring.stated_truth import read_stated_truth, read_truth_lines


class AnswerReader(StrEnum):
    """How an answer is read from a reply. The values are stored."""

    PHRASE = "phrase"  #: what follows the last `answer is`, or the whole reply
    FLEXIBLE = "flexible"  #: as instruct models write it


#: The version of the metrics that judge a stored reply as the other reader reads it: raised with a rule of `flexible`.
READING_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Expected:
    """The kind of a benchmark's answers, and the choices: what a prompt shows of the expected answer."""

    kind: AnswerKind
    choices: Sequence[str] = ()  #: the texts of a question's choices, in the order of their letters


def read_flexible(reply: str, expectation: Expected, cut: bool = False) -> str | None:
    """Return the answer that a reply states, or None. `cut`: whether the reply ends at the limit of tokens."""
    plain = plain_reply(reply)
    statements = find_statements(plain, expectation.kind == AnswerKind.CHOICE, cut)
    match expectation.kind:
        case AnswerKind.NUMBER:
            return _read_number(plain, statements, cut)
        case AnswerKind.CHOICE:
            return _read_last(
                statements,
                partial(read_stated_choice, choices=expectation.choices),
                lambda: read_choice_lines(plain, expectation.choices, cut),
            )
        case AnswerKind.YES_NO:
            return _read_last(statements, read_stated_truth, lambda: read_truth_lines(plain, cut))
    return read_text(plain, statements) or None


def other_reader(reader: AnswerReader) -> AnswerReader:
    """Return the reader whose score is stored beside the score of `reader`."""
    return AnswerReader.PHRASE if reader == AnswerReader.FLEXIBLE else AnswerReader.FLEXIBLE


def _read_last(
    statements: Sequence[Statement],
    read: Callable[[Statement], tuple[bool, str | None]],
    read_lines: Callable[[], str | None],
) -> str | None:
    """Return the answer of the last statement that is about the expected kind; without such a statement, `read_lines`.

    `read` returns whether a statement is about that kind, and its answer.
    """
    for statement in reversed(statements):
        says, answer = read(statement)
        if says:
            return answer
    return read_lines()


def _read_number(reply: PlainReply, statements: Sequence[Statement], cut: bool) -> str | None:
    """Return a number. If no statement has figures, and no figures follow it, return the last statement's text."""
    last_figure = max(map(reply.text.rfind, "0123456789"))

    def read_rest() -> str | None:
        if statements and statements[-1].start > last_figure:
            statement = statements[-1]
            return read_spelled(statement.text if statement.is_whole else sentence(statement.text)) or None
        return _read_number_lines(reply, cut)

    return _read_last(statements, read_stated, read_rest)


def _read_number_lines(reply: PlainReply, cut: bool) -> str | None:
    """Return the number of the first line if the line has nothing else; otherwise the last number of the reply."""
    text = reply.text.rstrip()
    first, _, rest = text.lstrip().partition("\n")
    if (rest.strip() or not cut) and (value := read_whole(first)) is not None:
        return value
    start = text.rfind("\n") + 1
    return None if cut else last_number(text, [text[a:b] for a, b in reply.bold if a >= start])
