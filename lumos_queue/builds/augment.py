"""Make more problems of a problem: with other numbers in text and equation, or with other names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from random import Random

#: Given names that are common in English word problems, by the pronoun that goes with them.
_COMMON = {
    "she": """Joan Sally Jessica Sara Nancy Emily Mary Melanie Sandy Alyssa Karen Joyce Jane Katie Diane Sarah
        Janet Lisa Carol Rachel Heather Ellen Zoe Rosa Bianca Norma Michelle Paige Martha Stephanie Brenda
        Nina Mildred Isabel Kimberly Megan Kelly Haley Scarlett Katherine Wendy Maria Evelyn Faye Sharon
        Marilyn Jennifer Paula Helen Melissa Amy Gwen Diana Gloria Angela Chloe Cheryl Ruth Anne Emma Lucy
        Anna Alice Julia Linda Laura Betty Susan Rebecca Amanda Olivia Tina""",
    "he": """Jason Tom Dan Mike Fred Tim Keith Benny Adam Charles Edward Victor Todd Jose Jerry William Dave
        Ralph Craig Bobby Roger George John Frank Timothy Willie David Patrick Harold Johnny Clarence Eugene
        Jeff Daniel Ronald Aaron Steve Spencer Larry Louis Mark James Douglas Oliver Cody Jack Peter Paul
        Brian Kevin Henry Luke Ben Bill Eric Alan Ryan Nick Martin Simon""",
}
NAMES = tuple(frozenset(names.split()) for names in _COMMON.values())
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
#: without an exponent, which may have no end
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})")
_TRIES = 40


def replace_names(text: str, random: Random) -> str:
    """Return the text with each known given name replaced everywhere by another name with the same pronoun."""
    names = dict.fromkeys(_NAME.findall(text))
    swap: dict[str, str] = {}
    for name in names:
        for kind in NAMES:
            if name in kind:
                swap[name] = random.choice(sorted(kind - set(names) - set(swap.values())))
    return _NAME.sub(lambda match: swap.get(match[0], match[0]), text)


def replace_numbers(record: Mapping[str, str], random: Random) -> dict[str, str] | None:
    """Return a MAWPS row, which has masked numbers, with other numbers and the answer to them; None if none fit.

    Whole numbers stay whole. Every step of the equation is positive, and whole if all original steps are.
    """
    numbers = record["Numbers"].split()
    if not all(map(_NUMBER.fullmatch, numbers)):
        return None
    old = list(map(Decimal, numbers))
    before = _evaluate(record["Equation"], old)
    if before is None:
        return None
    for _ in range(_TRIES):
        new = [nearby_number(number, random) for number in old]
        steps = _evaluate(record["Equation"], new)
        if steps is None or new == old:
            continue
        whole = all(step.denominator == 1 for step in before)
        if all(step > 0 for step in steps) and (not whole or all(step.denominator == 1 for step in steps)):
            answer = steps[-1]
            if not _finite(answer):
                continue
            return {
                **record,
                "Numbers": " ".join(map(str, new)),
                "Answer": str(Decimal(answer.numerator) / Decimal(answer.denominator)),
            }
    return None


def nearby_number(number: Decimal, random: Random) -> Decimal:
    """Return a number of about the same size with as many decimals. Numbers up to 1 stay as they are."""
    if number <= 1:
        return number
    decimals = max(0, -int(number.normalize().as_tuple().exponent))
    low, high = (Decimal(2), Decimal(20)) if number <= 12 else (number / 3, number * 2)
    sample = math.exp(random.uniform(math.log(low), math.log(high)))
    return max(round(Decimal(sample), decimals), Decimal(2)) if decimals else Decimal(max(2, round(sample)))


def _evaluate(equation: str, numbers: list[Decimal]) -> list[Fraction] | None:
    """Return the result of every operation of a prefix equation, in order; None when it cannot be read."""
    stack: list[Fraction] = []
    steps: list[Fraction] = []
    for token in reversed(equation.split()):
        if token in "+-*/":
            if len(stack) < 2:
                return None
            left, right = stack.pop(), stack.pop()
            if token == "/" and right == 0:
                return None
            value = {
                "+": lambda a, b: a + b,
                "-": lambda a, b: a - b,
                "*": lambda a, b: a * b,
                "/": lambda a, b: a / b,
            }[token](left, right)
            steps.append(value)
            stack.append(value)
        elif token.startswith("number") and token[6:].isdecimal() and int(token[6:][:9]) < len(numbers):
            stack.append(Fraction(numbers[int(token[6:][:9])]))
        elif _NUMBER.fullmatch(token):
            stack.append(Fraction(token))
        else:
            return None
    return steps if len(stack) == 1 and steps else None


def _finite(value: Fraction) -> bool:
    """Whether the value has at most four decimals, as the answers of word problems have."""
    return 10**4 % value.denominator == 0
