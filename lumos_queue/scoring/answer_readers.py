"""From a model's reply to its answer: the readers `phrase` and `flexible`. Scorers only compare answers.

`phrase` is the reading of models that were trained by LUMOS: of a reply with reasons what follows the last `answer is`,
without its full stop; of a reply without reasons all of it.

`flexible` reads replies of instruct models, through Markdown, LaTeX and HTML (answer_markup.py):

1. The last statement of the answer that can be read (answer_statements.py): a box, `####`, `the answer is`, `Answer:`,
   `final result`, a heading `Answer`. A statement of several different answers is none, and nothing before it counts.
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

from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_markup import PlainReply, plain_reply
from lumos_queue.scoring.answer_statements import Statement, find_statements
from lumos_queue.scoring.stated_choices import read_choice_lines, read_stated_choice
from lumos_queue.scoring.stated_numbers import last_number, read_stated, read_whole, show_value
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
    """What a benchmark's answers are, as far as a prompt shows it."""

    kind: AnswerKind
    choices: Sequence[str] = ()  #: the texts of a question's choices, in the order of their letters


def read_flexible(reply: str, expected: Expected, cut: bool = False) -> str | None:
    """The answer that a reply states; None where it states none. `cut`: it ends at the limit of tokens."""
    plain = plain_reply(reply)
    is_choice = expected.kind == AnswerKind.CHOICE
    statements = find_statements(plain, is_choice, cut)
    if expected.kind == AnswerKind.TEXT:
        return read_text(plain, statements) or None
    read, read_lines = _READERS[expected.kind]
    for statement in reversed(statements):
        says, answer = read(statement, expected.choices)
        if says:
            return answer
    return read_lines(plain, expected.choices, cut)


def other_reader(reader: AnswerReader) -> AnswerReader:
    """The reader whose score is stored beside that of `reader`."""
    return AnswerReader.PHRASE if reader == AnswerReader.FLEXIBLE else AnswerReader.FLEXIBLE


def _read_number(statement: Statement, _choices: Sequence[str]) -> tuple[bool, str | None]:
    says, value = read_stated(statement)
    return says, None if value is None else show_value(value)


def _read_number_lines(reply: PlainReply, _choices: Sequence[str], cut: bool) -> str | None:
    """The number of the first line, where it is all of it, else the last number."""
    first, _, rest = reply.text.strip().partition("\n")
    value = None if cut and not rest.strip() else read_whole(first)
    if value is None and not cut:
        last_line = reply.text.rstrip().rpartition("\n")[2]
        start = len(reply.text.rstrip()) - len(last_line)
        value = last_number(reply.text, [reply.text[a:b] for a, b in reply.bold if a >= start])
    return None if value is None else show_value(value)


_Read = Callable[[Statement, Sequence[str]], tuple[bool, str | None]]
_ReadLines = Callable[[PlainReply, Sequence[str], bool], str | None]
_READERS: dict[AnswerKind, tuple[_Read, _ReadLines]] = {
    AnswerKind.NUMBER: (_read_number, _read_number_lines),
    AnswerKind.CHOICE: (read_stated_choice, read_choice_lines),
    AnswerKind.YES_NO: (read_stated_truth, read_truth_lines),
}
