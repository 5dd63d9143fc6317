"""Read the answer of a model's reply with the reader `phrase` or `flexible`. Scorers only compare answers.

`phrase` is the reading of models that were trained by LUMOS: of a reply with reasons what follows the last `answer is`,
without its full stop; of a reply without reasons all of it.

`flexible` reads replies of instruct models, through Markdown, LaTeX and HTML (answer_markup.py):

1. The last statement that says anything of that kind (answer_statements.py): a box, `####`, `the answer is`, `Answer:`,
   `"answer":`, `final result`, a heading `Answer`. If it states several different answers, there is none. Where a
   number is expected and no statement has figures, the last one, if no figures follow, is the answer: `… is Ann.`
2. Without a statement, the first line, where the answer is all of it: a number with its unit, a letter of a choice or
   the choice, yes or no.
3. Else the last number (stated_numbers.py), or the last line that names one choice, or says yes or no.

A reply that the limit of tokens cut has no last number: rule 3 does not hold for it, and a statement counts only if
text follows its sentence. Of a text answer, what follows the last statement's marker, else the whole reply.
Numbers are returned plainly (`9500`, `0.5`, `1/3`), choices as their letter, yes or no as `Yes` or `No`.
Reading is total, and linear in the length of the reply.
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
    """The kind of a benchmark's answers, as far as a prompt shows it."""

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
    """Return the answer of the last statement that has an answer; without statements, the answer of the lines."""
    for statement in reversed(statements):
        says, answer = read(statement)
        if says:
            return answer
    return read_lines()


def _read_number(reply: PlainReply, statements: Sequence[Statement], cut: bool) -> str | None:
    """Return a number. If no statement has figures and none follow the last, its text is the answer: `… is Ann.`"""
    last_figure = max(map(reply.text.rfind, "0123456789"))

    def read_rest() -> str | None:
        if statements and statements[-1].start > last_figure:
            statement = statements[-1]
            return read_spelled(statement.text if statement.is_whole else sentence(statement.text)) or None
        return _read_number_lines(reply, cut)

    return _read_last(statements, read_stated, read_rest)


def _read_number_lines(reply: PlainReply, cut: bool) -> str | None:
    """Return the number of the first line, if the line has nothing else; otherwise the last number."""
    text = reply.text.rstrip()
    first, _, rest = text.lstrip().partition("\n")
    if (rest.strip() or not cut) and (value := read_whole(first)) is not None:
        return value
    start = text.rfind("\n") + 1
    return None if cut else last_number(text, [text[a:b] for a, b in reply.bold if a >= start])
