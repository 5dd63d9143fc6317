"""Checks that the last step of a decomposition, applied to the results of earlier steps, gives the row's answer.

Is #1 greater than #2?          the numbers, dates or measures are compared
Is #1 the same as #2?           the words are compared
Is Ahr included in #1?          the result must contain Ahr, or must not

If the results contradict the row's answer, a step was answered from a wrong fact; if the results cannot be compared,
this may have happened. Questions of other forms are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.questions.english import DIFFERENT, EQUAL, GREATER, LESS, OR_EQUAL
from lumos_queue.rationales.questions.spans import Span, compare_spans, dates, quantities
from lumos_queue.rationales.questions.word_matches import content, has_form

_BE = r"(?:is|are|was|were|does|do|did|has|have|would|could|can|will)"
_OPERAND = r"#[1-9]|[\d,.]+|one|two|three|four|five|six|seven|eight|nine|ten|twelve"
_TWO = re.compile(
    rf"{_BE} (?:both )?(?:the )?(?P<first>{_OPERAND}) (?P<between>[a-z ]{{2,40}}) (?:the )?(?P<second>{_OPERAND})"
    r"(?P<after>(?: [a-z]+){0,2})",
    re.IGNORECASE,
)
_INCLUDED = re.compile(
    rf"{_BE} (?:any of |any )?(?P<what>.{{1,80}}?) (?:(?:included|listed|found|mentioned|present) (?:in|among|with)|in"
    r"|among|one of) (?:any of )?(?P<where>#[1-9])",
    re.IGNORECASE,
)
_INCLUDES = re.compile(
    rf"{_BE} (?:any of )?(?P<where>#[1-9]) (?:include|contain|have|mention) (?P<what>.{{1,80}})", re.I
)
#: The number after them is a bound.
_OVER = re.compile(r"\b(?:over|more than|at least|above|exceed(?:s|ed|ing)?)\b", re.IGNORECASE)
_UNDER = re.compile(r"\b(?:less than|fewer than|under|at most|below)\b", re.IGNORECASE)
#: They negate or change a comparison, so the question is not judged.
_TURNS = re.compile(r"\b(?:not|no|never|without|times|divided|multiplied|twice|half|either|if)\b", re.IGNORECASE)


def answer_follows(question: str, results: Sequence[str], answer: str, strict: bool = False) -> bool | None:
    """Return whether the answer, Yes or No, follows from the results; None if the question has another form.

    It does not follow if the results cannot be compared as the question requires. `strict`: `over 600` is not 600.
    """
    query, yes = question.strip().rstrip(" ?."), answer == "Yes"
    if _TURNS.search(query):
        return None
    if match := _TWO.fullmatch(query):
        first, second = _fill_in(match["first"], results), _fill_in(match["second"], results)
        verdict = _compare(f"{match['between']} {match['after']}".lower(), first, second, strict)
        return None if verdict == "" else verdict == answer
    if match := _INCLUDED.fullmatch(query) or _INCLUDES.fullmatch(query):
        container_words = content(_fill_in(match["where"], results))
        subject_words = content(re.sub(r"#[1-9]", lambda reference: _fill_in(reference[0], results), match["what"]))
        matches = [has_form(word, container_words) for word in subject_words]
        return bool(subject_words) and (all(matches) if yes else not any(matches))
    return None


def _fill_in(operand: str, results: Sequence[str]) -> str:
    return results[int(operand[1:]) - 1] if operand.startswith("#") else operand


def _compare(relation: str, first: str, second: str, strict: bool) -> str | None:
    """Return Yes or No; None if the operands cannot be compared, '' for an unknown relation."""
    greater, less = bool(GREATER.search(relation)), bool(LESS.search(relation))
    if greater != less:
        left_span, right_span = _value(first), _value(second)
        sign = compare_spans(left_span, right_span) if left_span and right_span else ""
        if strict:
            sign = _sign_of_bounds(sign, first, second)
        if not sign:
            return None
        return "Yes" if sign == (">" if greater else "<") or (sign == "=" and OR_EQUAL.search(relation)) else "No"
    different = bool(DIFFERENT.search(relation))
    if not greater and (different or EQUAL.search(relation)):
        has_bound = strict and (
            _OVER.search(first) or _UNDER.search(first) or _OVER.search(second) or _UNDER.search(second)
        )
        equal = None if has_bound else _equal(first, second)
        return None if equal is None else "Yes" if equal != different else "No"
    return ""


def _sign_of_bounds(sign: str, first: str, second: str) -> str:
    """Return the sign of two numbers that may be bounds, `over 600` or `under 7`; '' if it is unknown."""
    can_be_greater = bool(_OVER.search(first) or _UNDER.search(second))
    can_be_less = bool(_UNDER.search(first) or _OVER.search(second))
    if sign == "=" and can_be_greater != can_be_less:
        return ">" if can_be_greater else "<"
    is_open = (can_be_greater and sign != ">") or (can_be_less and sign != "<")
    return "" if is_open else sign


def _value(text: str) -> Span | None:
    """Return the only date or number of a text; None if it has none or several."""
    spans = dates(text) or quantities(text)
    return spans[0] if len(spans) == 1 else None


def _equal(first: str, second: str) -> bool | None:
    """Return whether two results are equal; None if they have only some common words."""
    left_span, right_span = _value(first), _value(second)
    if left_span and right_span and (sign := compare_spans(left_span, right_span)):
        return sign == "="
    first_words, second_words = content(first), content(second)
    matches = [has_form(word, second_words) for word in first_words]
    if all(matches) and all(has_form(word, first_words) for word in second_words):
        return True
    return None if any(matches) else False
