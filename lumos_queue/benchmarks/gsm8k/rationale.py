"""Convert GSM8K's solutions: each calculation becomes an action, and each line with calculations becomes a subgoal.

Lines without calculations are left out. In the socratic files, a subgoal answers the sub-question of its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction

from lumos_queue.benchmarks.base import RuleReview
from lumos_queue.benchmarks.gsm8k.wording import Wording
from lumos_queue.rationales.maths.blanks import content_words, describe_blank
from lumos_queue.rationales.maths.calculations import Calculation, SolutionLine, calculations
from lumos_queue.rationales.maths.copied_numbers import find_copied_numbers
from lumos_queue.rationales.maths.equations import final_quantity
from lumos_queue.rationales.maths.evident_links import EvidentReading, choose_reading
from lumos_queue.rationales.maths.expressions import Operation
from lumos_queue.rationales.maths.links import Linker
from lumos_queue.rationales.maths.program import ProgramBuilder, Step
from lumos_queue.rationales.maths.prose import describe_quantity
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

EVIDENCE_VERSION = 2  #: the version of the rules from which on evidence decides links, and doubtful rows wait
MAX_UNIT_WORDS = 4  #: words of a phrase that may only name a unit, `how many square feet`
_FRAME = frozenset(("the", "blank", "how", "many"))  #: words of the phrase itself


def annotate(question: str, solution: str, answer: str, version: int = 1) -> Annotation:
    """Return the gold program of a solution (the text before `####`). Raises NotConvertible.

    `version`: of the rules; from EVIDENCE_VERSION on, evidence decides the links of operands.
    """
    if version >= EVIDENCE_VERSION:
        return convert_by_evidence(question, solution, answer)[0]
    return convert(question, solution, answer)[0]


def convert(question: str, solution: str, answer: str) -> tuple[Annotation, Linker]:
    """Return the gold program, and the linker of its operands, by version 1 of the rules. Raises NotConvertible."""
    gold = _read_gold(answer)
    linker = Linker.of(question_numbers(question).numbers)
    lines = calculations(solution, gold)
    steps = (_steps(line, question, lines[-1].calculations[-1], linker) for line in lines)
    return _build(question, answer, gold, lines, steps), linker


def convert_by_evidence(question: str, solution: str, answer: str) -> tuple[Annotation, EvidentReading]:
    """Return the gold program, and the evidence for the links of its operands. Raises NotConvertible."""
    gold = _read_gold(answer)
    lines = calculations(solution, gold, all_prose=True)
    reading = choose_reading(question, lines)
    return _build(question, answer, gold, lines, _worded_steps(question, lines, reading)), reading


def review(question: str, solution: str, answer: str, version: int) -> RuleReview:
    """Return why the row of a gold program must wait, and the evidence for its links; empty if there is no program."""
    if version < EVIDENCE_VERSION:
        return RuleReview()
    try:
        reading = convert_by_evidence(question, solution, answer)[1]
    except NotConvertible:
        return RuleReview()
    return RuleReview(reading.doubts, reading.evidence)


def _read_gold(answer: str) -> Fraction:
    gold = read_number(answer)
    if gold is None:
        raise NotConvertible("answer_is_text")
    return gold


def _build(
    question: str, answer: str, gold: Fraction, lines: Sequence[SolutionLine], steps: Iterable[Sequence[Step]]
) -> Annotation:
    """Return the program of the steps of each line. Raises NotConvertible."""
    program = ProgramBuilder()
    for line_steps in steps:
        program.add(line_steps)
    if not program.values:
        raise NotConvertible("no_mark")
    if program.values[-1] != gold and gold in program.values:
        raise NotConvertible("mark_not_last")
    annotation = program.finish(answer, gold)
    all_calculations = [calculation for line in lines for calculation in line.calculations]
    if not isinstance(all_calculations[-1].expression, Operation) or any(
        calculation.copied for calculation in all_calculations
    ):
        raise NotConvertible("copied")
    if find_copied_numbers(annotation.steps, question):
        raise NotConvertible("copied")
    return annotation


def _worded_steps(question: str, lines: Sequence[SolutionLine], reading: EvidentReading) -> Iterator[list[Step]]:
    """Yield the steps of each line, with the expressions of a reading."""
    wording, expressions, results = Wording(question, lines), iter(reading.expressions), set[Fraction]()
    for position, line in enumerate(lines):
        steps: list[Step] = []
        for index, calculation in enumerate(line.calculations):
            steps.append((next(expressions), wording.describe(position, index, results)))
            results.add(calculation.value)
        yield steps


def _steps(line: SolutionLine, question: str, last: Calculation, linker: Linker) -> list[Step]:
    """Return an action for each calculation of a line. `last` is the calculation that computes the answer.

    By version 1 of the rules.
    """
    steps: list[Step] = []
    text, stated_numbers = f"{question} {line.text}", frozenset(numbers_in(question, words=True))
    for index, calculation in enumerate(line.calculations):
        known_numbers = stated_numbers.union(linker.results)
        expression = linker.link(calculation.expression, text)
        linker.results.append(calculation.value)
        if (
            line.question
            and index == len(line.calculations) - 1
            and known_numbers.issuperset(numbers_in(line.question, words=True))
        ):
            steps.append((expression, f"the answer to '{line.question}'"))
        else:
            words = _describe_result(calculation, stated_numbers, continues=index > 0)
            steps.append((expression, words or (final_quantity(question) if calculation is last else None)))
    return steps


def _describe_result(calculation: Calculation, stated_numbers: Collection[Fraction], continues: bool) -> str | None:
    """Return words for a calculation's result: a phrase of its line, or the line with a blank in place of the result.

    Return None if the line has no such words.
    """
    phrase = describe_quantity(calculation.before, calculation.after, stated_numbers)
    if phrase is not None and len(phrase.split()) > MAX_UNIT_WORDS:
        return phrase
    longer = describe_blank(calculation.before, calculation.after, calculation.value, stated_numbers, continues)
    return (
        longer if longer and (not phrase or content_words(longer) - _FRAME > content_words(phrase) - _FRAME) else phrase
    )
