"""Finds the constants that words of a text imply: a solution may use 60 if the question mentions minutes or hours.

A constant does not change if the numbers of the question change.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

#: The numbers, the words that must be in the text (one of each group between `&`), and what the numbers mean.
_TABLE: tuple[tuple[str, str, str], ...] = (
    ("7", r"weeks?|weekly|biweekly", "days of a week"),
    ("5", r"weekdays?|workdays?|(?:work|school|working) ?(?:week|day)s?", "days of a working week"),
    ("2", r"weekends?", "days of a weekend"),
    ("14", r"fortnights?", "days of a fortnight"),
    ("4", r"months?|monthly & weeks?|weekly", "weeks of a month, as word problems count"),
    ("52", r"weeks?|weekly & years?|yearly|annual(?:ly)?", "weeks of a year"),
    ("30", r"months?|monthly|april|june|september|november", "days of a month"),
    ("31", r"january|march|(?:in|of|during|by) may|may [0-9]|july|august|october|december", "days of these months"),
    ("28", r"february", "days of February"),
    ("29 366", r"leap", "days of February and of the year in a leap year"),
    ("365", r"years?|yearly|annual(?:ly)?", "days of a year"),
    ("12", r"months?|monthly|years?|yearly|annual(?:ly)?", "months of a year"),
    ("10", r"decades?", "years of a decade"),
    ("100", r"centur(?:y|ies)", "years of a century"),
    ("24", r"hours?|hourly", "hours of a day"),
    ("12", r"noon|midnight|[ap]\.?m\.?|o'clock|clock", "hours to noon"),
    ("60", r"minutes?|mins?|hours?|hourly|hrs?|seconds?|mph", "seconds of a minute, minutes of an hour"),
    ("3600", r"seconds? & hours?", "seconds of an hour"),
    ("1440", r"minutes? & days?", "minutes of a day"),
    ("15", r"quarter of an hour|quarter[- ]hours?", "minutes of a quarter of an hour"),
    ("30", r"half an hour|half[- ]hours?", "minutes of half an hour"),
    ("90", r"hours? and a half|right angles?", "minutes of an hour and a half, degrees of a right angle"),
    ("100", r"per ?cent|percentages?|%", "the whole in per cent"),
    (".01", r"per ?cent|percentages?|%|cents?|penn(?:y|ies)", "one per cent, a cent in dollars"),
    ("100", r"cents?|penn(?:y|ies)|dimes?|nickels?", "cents of a dollar"),
    ("100", r"quarters? & dollars?|\$", "cents of a dollar, counted in coins"),
    ("10 .1", r"dimes?", "a dime in cents, in dollars"),
    ("5 .05", r"nickels?", "a nickel in cents, in dollars"),
    ("25 .25", r"quarters?", "a quarter in cents, in dollars"),
    ("100 10", r"cm|centimet(?:er|re)s?", "centimetres of a metre, millimetres of a centimetre"),
    ("10", r"mm|millimet(?:er|re)s?", "millimetres of a centimetre"),
    (
        "1000",
        r"kilo\w*|kgs?|kms?|kw|millilit(?:er|re)s?|ml|lit(?:er|re)s?|milli\w*|mg|grams?|tons?|tonnes?",
        "grams of a kilogram, metres of a kilometre, millilitres of a litre, kilograms of a tonne",
    ),
    ("16", r"ounces?|oz", "ounces of a pound"),
    ("2000", r"tons? & pounds?|lbs?", "pounds of a short ton"),
    ("12", r"inch(?:es)?|foot|feet", "inches of a foot"),
    ("3 36", r"yards?", "feet and inches of a yard"),
    ("9", r"square yards?", "square feet of a square yard"),
    ("144", r"square (?:inch(?:es)?|feet|foot)|gross", "square inches of a square foot, pieces of a gross"),
    ("5280 1760", r"miles?", "feet and yards of a mile"),
    ("2 8", r"pints?", "cups of a pint, pints of a gallon"),
    ("2 4 32", r"quarts?", "pints, cups and ounces of a quart"),
    ("4 8 16 128", r"gallons?", "quarts, pints, cups and ounces of a gallon"),
    ("8", r"cups? & ounces?|oz", "ounces of a cup"),
    ("3 6", r"teaspoons?|tsps?", "teaspoons of a tablespoon and of an ounce"),
    ("16 2", r"tablespoons?|tbsps?", "tablespoons of a cup and of an ounce"),
    ("12", r"dozens?", "pieces of a dozen"),
    ("20", r"scores? of|scores? and", "pieces of a score"),
    ("1000", r"thousands?", "a thousand"),
    ("1000000", r"millions?", "a million"),
    ("2", r"half|halves|halv\w+|halfway|twice|doubl\w+", "a half and its inverse"),
    ("1/2 50", r"half|halves|halv\w+|halfway", "a half, in per cent"),
    ("3/2 150", r"and a half|half (?:more|again)|half as (?:much|many) (?:more|again)", "one and a half"),
    ("2", r"both|pairs?|couples?|twins?|round[- ]trips?|each way|there and back|back and forth", "both, to and fro"),
    ("3", r"thrice|tripl\w+|trebl\w+|trios?", "three times"),
    ("3 1/3 2/3", r"thirds?", "a third, and what it leaves"),
    ("4", r"quadrupl\w+|quartets?", "four times"),
    ("4 1/4 3/4 75", r"quarters?|fourths?", "a quarter, and what it leaves, in per cent"),
    ("5 1/5 2/5 3/5 4/5", r"fifths?", "fifths"),
    ("6 1/6 5/6", r"sixths?", "sixths"),
    ("7", r"sevenths?", "a seventh"),
    ("8 1/8 3/8 5/8 7/8", r"eighths?", "eighths"),
    ("9", r"ninths?", "a ninth"),
    ("10 1/10", r"tenths?", "a tenth"),
    (
        "1",
        r"per ?cent|percentages?|%|half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?|whole",
        "the whole of which there are parts",
    ),
    ("1", r"another|(?:him|her|it|my|your)self|themselves|single|once|ago|first|last|extra", "a single one, oneself"),
    ("2", r"perimeters?|rectang\w+", "sides of a rectangle that are equal"),
    ("2", r"diameters?|radius|radii|triang\w+", "radii of a diameter, a triangle is half its rectangle"),
    ("3 180", r"triang\w+", "sides of a triangle, degrees of its angles"),
    ("4", r"squares?|rectang\w+", "sides of a square"),
    ("6 12", r"cubes?", "faces and edges of a cube"),
    ("5", r"pentagons?|quintupl\w+", "sides of a pentagon, five times"),
    ("6", r"hexagons?", "sides of a hexagon"),
    ("8", r"octagons?", "sides of an octagon"),
    ("180 360", r"degrees?|angles?", "degrees of a straight line and of a circle"),
    ("32 5 9 9/5 5/9", r"fahrenheit|celsius", "the scales of Fahrenheit and Celsius"),
)
MAX_CHARACTERS = 20_000  #: searched in a text

_COMPILED = [
    (
        frozenset(map(Fraction, numbers.split())),
        [re.compile(rf"(?<![a-z])(?:{group})(?![a-z])") for group in words.split(" & ")],
    )
    for numbers, words, _ in _TABLE
]


@lru_cache(maxsize=1024)
def find_constants(text: str) -> frozenset[Fraction]:
    """Return the numbers that words of the text imply."""
    text = text[:MAX_CHARACTERS].lower()
    matches = (numbers for numbers, groups in _COMPILED if all(group.search(text) for group in groups))
    return frozenset().union(*matches)
