"""Annotates the rows of MAWPS and SVAMP, which contain one equation. Each operation becomes a subgoal."""

from __future__ import annotations

import re
from collections.abc import Callable

from lumos_queue.notation import variables_in
from lumos_queue.rationales.enumeration import enumerate_words
from lumos_queue.rationales.maths.expressions import Expression, Number, Operation, leaves, parse_infix, parse_prefix
from lumos_queue.rationales.maths.program import ProgramBuilder
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

MAX_QUESTION_CHARACTERS = 200  #: of a question's last sentence, which a subgoal quotes
MAX_CHARACTERS = 20_000  #: searched for clauses in a question
MAX_CLAUSE_WORDS = 20  #: of a clause that a subgoal quotes
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_JOINED = re.compile(r"^(?:and|but|then|so|or|while)\s+", re.IGNORECASE)
_CLAUSE_END = re.compile(r"(?<=[,;])\s+|(?<!\s)\s++(?:and|but|then|while)\s+")


def annotate(question: str, equation: str, answer: str) -> Annotation:
    """Return the annotation of a row. `equation` has the form `- + 1 2 3` or `( 40.0 - 13.0 )`.

    Raises NotConvertible.
    """
    gold = read_number(answer)
    if gold is None:
        raise NotConvertible("answer_is_text")
    expression = parse_prefix(equation) or parse_infix(equation)
    if expression is None:
        raise NotConvertible("unreadable_expression")
    program = ProgramBuilder(quantity_describer(question))
    if isinstance(expression, Operation):
        program.add_tree(expression, final_quantity(question))
    else:
        program.add([(expression, final_quantity(question))])
    return program.finish(answer, gold)


def final_quantity(question: str) -> str | None:
    """Return the last subgoal's quantity, `the answer to '…'`; None if the question is too long or missing."""
    question = question.rstrip()
    last = _SENTENCE_END.split(question[-MAX_QUESTION_CHARACTERS:])[-1]
    if not last.endswith("?") or (len(last) == MAX_QUESTION_CHARACTERS and last != question):
        return None
    return f"the answer to '{last}'"


def quantity_describer(question: str) -> Callable[[Expression], str | None]:
    """Return a function that describes an operation by quoting the clauses that contain its numbers."""
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(question[:MAX_CHARACTERS])]
    clauses = [_JOINED.sub("", clause.strip(" .,;")) for sentence in sentences for clause in _clauses(sentence)]
    statements = [(clause, numbers_in(clause, words=True)) for clause in clauses if not variables_in(clause)]

    def describe(expression: Expression) -> str | None:
        numbers = [abs(leaf.value) for leaf in leaves(expression) if isinstance(leaf, Number)]
        matches = (
            next((clause for clause, clause_numbers in statements if number in clause_numbers), "")
            for number in numbers
        )
        quotations = [f"'{clause}'" for clause in dict.fromkeys(matches) if clause]
        return f"what follows from {enumerate_words(quotations)}" if quotations else None

    return describe


def _clauses(sentence: str) -> list[str]:
    """Return the sentence alone, or its clauses if it is long or contains several numbers."""
    if len(numbers_in(sentence, words=True)) < 2 and len(sentence.split()) <= MAX_CLAUSE_WORDS:
        return [sentence]
    parts = _CLAUSE_END.split(sentence)
    return [
        part if len(words := part.split()) <= MAX_CLAUSE_WORDS else " ".join(words[-MAX_CLAUSE_WORDS:])
        for part in parts
    ]
