"""MAWPS and SVAMP: one equation a row, prefix or infix. Each operation becomes a subgoal."""

from __future__ import annotations

import re

from lumos_queue.benchmarks.numeric import read_number
from lumos_queue.conversion.expressions import Operation, parse_infix, parse_prefix
from lumos_queue.conversion.program import Program
from lumos_queue.conversion.reasons import NotConvertible
from lumos_queue.records import Annotation

MAX_QUESTION_CHARACTERS = 200  #: of a question sentence that a subgoal repeats
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def annotate(question: str, equation: str, answer: str) -> Annotation:
    """The gold program of `- + 1 2 3` or `( 40.0 - 13.0 )`. Raises NotConvertible."""
    gold = read_number(answer)
    if gold is None:
        raise NotConvertible("answer_is_text")
    expression = parse_prefix(equation) or parse_infix(equation)
    if expression is None:
        raise NotConvertible("unreadable_expression")
    program = Program()
    if isinstance(expression, Operation):
        program.add_tree(expression, asked(question))
    else:
        program.add([(expression, asked(question))])
    return program.finish(answer, gold)


def asked(question: str) -> str | None:
    """The sentence that asks, as what the last subgoal calculates; None when there is no short one."""
    question = question.rstrip()
    last = _SENTENCE_END.split(question[-MAX_QUESTION_CHARACTERS:])[-1]
    if not last.endswith("?") or (len(last) == MAX_QUESTION_CHARACTERS and last != question):
        return None
    return f"the answer to '{last}'"
