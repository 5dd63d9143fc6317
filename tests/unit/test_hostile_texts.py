"""Readers of texts that others write, at the lengths that they read: their time grows with the length alone.

The limit is generous. Readers whose time grew with the square of the length exceeded it, or took hours.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from lumos_queue.actions.code.pseudo import program
from lumos_queue.actions.qa.answer import read_answer
from lumos_queue.actions.qa.wikitext import paragraphs_of
from lumos_queue.actions.quantities.kinds import Quantity
from lumos_queue.actions.quantities.reading import read_value
from lumos_queue.actions.shop.arguments import read_query
from lumos_queue.actions.shop.words import nouns
from lumos_queue.actions.tools.finish import _find_fields
from lumos_queue.actions.tools.simulator import _remove_fence
from lumos_queue.benchmarks.masked_table import read_masked_task
from lumos_queue.benchmarks.mind2web.prompts import _read_attributes
from lumos_queue.benchmarks.rewoo.benchmark import _blocks, _question
from lumos_queue.builds.heldout import mask_words
from lumos_queue.compat.toolbench.schemas import entries_of
from lumos_queue.errors import ActionError
from lumos_queue.prompts.todo_list import read_list
from lumos_queue.prompts.tooleval import read_label
from lumos_queue.rationales.maths.calculations import calculations, strip_formula
from lumos_queue.rationales.maths.equations import quantity_describer
from lumos_queue.rationales.maths.expressions import Number
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.queries import _reduce_space
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.scoring.letters import read_choice
from lumos_queue.scoring.tool_votes import AnswerLabel
from tests.cpu_limit import cpu_limit

MIB = 2**20


def read_description(description: str) -> str:
    return entries_of([{"name": "a_for_b", "description": description}])[0]["api_description"]


def read_shop_query(text: str) -> str:
    return _read_or_fail(lambda: read_query(text, "Pick")[1])


def read_program(text: str) -> str:
    return _read_or_fail(lambda: program(text, [], False))


def read_plan(plan: str) -> object:
    return _read_or_fail(lambda: _blocks(plan))


def _read_or_fail(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ActionError as error:
        return error.kind
    except NotConvertible as error:
        return str(error)


def read_final_answer(text: str) -> str | None:
    return _find_fields(text).get("final_answer")


def read_verdict(text: str) -> AnswerLabel | None:
    return read_label(text, AnswerLabel)


def read_letter(text: str) -> int | None:
    return read_choice(text, ["cat", "dog"])


def read_fixed(question: str) -> frozenset[Fraction]:
    return question_numbers(question).fixed


def read_clauses(question: str) -> str | None:
    return quantity_describer(question)(Number(Fraction(9)))


#: What is read, by whom, and what comes of it.
CASES = {
    "answer, line breaks": (read_answer, "No." + "\n" * 2 * MIB + "x", "No."),
    "answer, dots and line breaks": (read_answer, "No." + "\n. " * MIB + "Answer: yes", "yes"),
    "fence, line breaks": (_remove_fence, "```" + "\n" * MIB + "x", "```" + "\n" * MIB + "x"),
    "fence, blanks": (_remove_fence, "```json" + " " * MIB + "{}" + " " * MIB + "```", "{}"),
    "judge, line breaks": (read_verdict, "x" + "\n" * 19_990 + "x", None),
    "judge, stars": (read_verdict, "x" + "\n*" * 9_000 + "Label: solved", AnswerLabel.SOLVED),
    "shop, blanks": (read_shop_query, "x" + " " * 19_990 + "x", "syntax"),
    "shop, blanks before the query": (read_shop_query, "R1," + " " * 19_000 + "Query: red", "red"),
    "finish, quotes": (read_final_answer, '{"final_answer": ' + '"' * 9_000 + " }" * 2_000, '"' * 8_998),
    "list, blanks": (read_list, "step" + " " * 99_000 + "x", ()),
    "list, blanks after the number": (read_list, "1." + " " * 99_000 + "x", ("x",)),
    "choice, blanks": (read_letter, "B" + " " * 1_990 + "x", 1),
    "choice, blanks before the letter": (read_letter, "answer" + " " * 1_990 + "B", 1),
    "unit, squares": (read_value, "5 " + "²" * 290 + "!", None),
    "unit, squares between hyphens": (read_value, "5 " + "² -" * 90 + "²!", None),
    "pseudo-code, one word": (read_program, "a1" * 9_999 + "!", "syntax"),
    "title, digits": (nouns, "7" * 200_000 + " Red", ["red"]),
    "page, blanks": (paragraphs_of, "a\n" + " " * MIB + "b", []),
    "page, addresses": (paragraphs_of, "[//" + ("x" * 1_900 + "[//") * 500, []),
    "page, a link of blanks": (paragraphs_of, "[[" + " " * MIB + "x]] two three four five", ["x two three four five"]),
    "held-out text, blanks": (mask_words, "a" + " " * MIB + "b", ["#", "b"]),
    "description, again and again": (read_description, 'The description of this function is: "' * 20_000 + "x", ""),
    "plan, line breaks": (read_plan, "\n" * MIB + "x", "unreadable_plan"),
    "plan, calls without an end": (read_plan, "Plan: x\n" + "#E1 = LLM[" * 20_000, "unreadable_plan"),
    "plan, a question of blanks": (_question, " " * MIB + "x", " " * MIB + "x"),
    "candidate, attributes without an end": (_read_attributes, ' a="x' * 100_000, {}),
    "query, quotes without an end": (_reduce_space, "\\'" * 200_000, "\\'" * 200_000),
    "question, hyphens": (read_fixed, "a" + "-" * 19_000 + " x", frozenset()),
    "question, hyphens before a dozen": (read_fixed, "a" + "- " * 9_000 + "dozen", frozenset([Fraction(12)])),
    "solution, a number": (calculations, "3 * 4 = 1" + ",111" * 4_900 + "x", []),
    "solution, blanks": (strip_formula, "Tom has" + " " * 380 + "= $", "Tom has"),
    "equation, blanks": (read_clauses, "1 2" + " " * 19_000 + "x", None),
}


@pytest.mark.parametrize(("read", "text", "result"), CASES.values(), ids=CASES)
def test_a_text_is_read_in_time_that_grows_with_its_length(read, text, result):
    with cpu_limit(10):
        found = read(text)

    assert found == result


def test_blanks_before_signs_are_taken_out_of_a_question():
    row = {"Question": f"A{' ' * MIB}, b ?", "Numbers": "1", "Equation": "+ 1 1", "Answer": "1"}
    with cpu_limit(10):
        task = read_masked_task("svamp", 1, row)

    assert task.question == "A, b?"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 m²", "m²"),
        ("5 m.²s", "m.²s"),
        ("5 m.²", "m.²"),
        ("5 kg/²", "kg/²"),
        ("5 kg /² (about)", "kg /²"),
        ("5 kg-²-m", "kg-²-m"),
        ("5 kg m s kg m s", "kg m s kg m s"),
    ],
)
def test_squares_are_parts_of_words_and_stand_between_words(text, unit):
    assert read_value(text) == Quantity(Fraction(5), unit)


@pytest.mark.parametrize(
    ("query", "reduced"),
    [
        ("SELECT  a\n FROM b", "SELECT a FROM b"),
        ("SELECT 'a  b',  \"c  d\"", "SELECT 'a  b', \"c  d\""),
        ("SELECT 'it''s  x'  y", "SELECT 'it''s  x' y"),
        (r"SELECT 'a\'  b'  c", r"SELECT 'a\'  b' c"),
        (r"SELECT 'a\'  b  c", r"SELECT 'a\' b c"),
        ('SELECT \'a  "b  c"', 'SELECT \'a "b  c"'),
        ("'a''b  c", "'a''b c"),
    ],
)
def test_blanks_outside_of_a_querys_strings_become_one(query, reduced):
    assert _reduce_space(query) == reduced


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        (' a="1" b="2"', {"a": "1", "b": "2"}),
        (' a="say "hi"" b="2"', {"a": 'say "hi"', "b": "2"}),
        (' a="1" b="cut...', {"a": "1", "b": "cut"}),
        (' a="1" b="never', {"a": "1"}),
    ],
)
def test_an_attribute_ends_before_the_next_one(text, attributes):
    assert _read_attributes(text) == attributes
