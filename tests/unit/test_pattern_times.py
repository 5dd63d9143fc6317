"""Every regular expression of the source takes linear time, or a bounded one.

The matcher of `re` holds the interpreter's lock: while it runs, a worker sends no heartbeat and ends by no signal. So
no text of a model, a tool or a data set may make it run long. The analysis needs no clock. Two tests measure processor
time: what is in the list of exceptions takes milliseconds at its bound, and what the analysis complains about is slow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.patterns.bounds import BOUNDED, UNKNOWN
from tests.patterns.growth import Growth, find_growth
from tests.patterns.measure import ENDS, measure, write_texts
from tests.patterns.source import Use, collect_apart

MOST_SECONDS = 0.5  #: of an exception at its bound; all but one take less than 0.01

QUADRATIC = [(r"\s+$", "search"), (r"\s*,", "search"), (r"\w+!", "search"), (r"^\s*\n\s*x", "match")]
SLOW = [
    *QUADRATIC,
    (r"[^x]*x", "search"),
    (r"a(?=.*x)", "search"),
    (r"a(?:[^x]*x)?", "search"),
    (r"(?m)^\W*Answer:", "search"),
    (r"x{1,2000}y", "search"),
    (r"\s*\$?\s*x", "match"),
    (r"[a-z]*[a-m]*!", "match"),
    (r"\s*```\s*(.*?)\s*```\s*", "fullmatch"),
    (r"[0-9]+\.?[0-9]*", "fullmatch"),
]
EXPONENTIAL = [(r"(a+)+b", "search"), (r"(?:a|ab|b)*x", "match"), (r"(?:\w+\s*)*!", "match")]
LINEAR = [
    (r"\s+", "search"),
    (r"(?<!\s)\s+$", "search"),
    (r"\bword\s+$", "search"),
    (r'"[^"]*"', "search"),
    (r"\n(?:[^\S\n]*+\n)++", "search"),
    (r"(?m)^label(.*)$", "search"),
    (r"half\w+(?![a-z])", "search"),
    (r"x{1,20}y", "search"),
    (r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?", "search"),
    (r"\s*+\$?+\s*+x", "match"),
    (r"(?>\s*)\s*x", "match"),
    (r"\s+$", "match"),
    (r"(a+)+", "match"),
    (r"[0-9]+(?:\.[0-9]*)?", "fullmatch"),
    (r"""(['"])(.*)\1""", "fullmatch"),
]


@cache
def analyse(text: str, flags: int, searched: bool, whole: bool) -> Growth | None:
    return find_growth(text, flags, searched, whole)


def analyse_method(pattern: str, method: str) -> Growth | None:
    return analyse(pattern, 0, method == "search", method == "fullmatch")


def list_growing(uses: list[Use]) -> list[tuple[Use, Growth]]:
    known = [(use, use.text) for use in uses if use.text is not None]
    analysed = [(use, analyse(text, use.flags, use.searched, use.whole)) for use, text in known]
    return [(use, growth) for use, growth in analysed if growth]


def measure_use(use: Use, growth: Growth, length: int, ends: Sequence[str] = ENDS) -> float:
    method = "search" if use.searched else "fullmatch" if use.whole else "match"
    return measure(str(use.text), use.flags, method, write_texts(growth.beginning, growth.repeated, length, ends))


@pytest.fixture(scope="module")
def uses() -> list[Use]:
    return collect_apart()


def test_no_pattern_of_the_source_takes_more_than_linear_time(uses):
    lines = [f"{use.name}: {growth} in {use.text}" for use, growth in list_growing(uses) if use.name not in BOUNDED]

    remedy = "write these so that one way leads through a text, or bound the text (tests/patterns/bounds.py)"
    assert not lines, "\n".join([remedy, *lines])
    assert len(uses) > 500


def test_each_exception_takes_milliseconds_at_its_bound(uses):
    growing = [(use, growth) for use, growth in list_growing(uses) if use.name in BOUNDED]
    seconds = [(use.name, measure_use(use, growth, BOUNDED[use.name].characters)) for use, growth in growing]

    assert [(name, taken) for name, taken in seconds if taken > MOST_SECONDS] == []
    assert {use.name for use, _ in growing} == BOUNDED.keys(), "take out of BOUNDED what needs no exception any more"


def test_patterns_that_only_a_run_knows_are_listed_with_a_reason(uses):
    assert {use.name for use in uses if use.text is None} == UNKNOWN.keys()


@pytest.mark.parametrize(("pattern", "method"), SLOW + EXPONENTIAL)
def test_a_pattern_that_parts_the_ways_is_found(pattern, method):
    assert analyse_method(pattern, method) is not None


@pytest.mark.parametrize(("pattern", "method"), LINEAR)
def test_a_pattern_with_one_way_is_not_found(pattern, method):
    assert analyse_method(pattern, method) is None


def test_the_texts_that_are_named_take_long():
    planted = [Use(pattern, pattern, 0, method == "search", method == "fullmatch") for pattern, method in QUADRATIC]
    growing = list_growing(planted)

    times = [[measure_use(use, growth, length, ["\0"]) for length in (4_000, 16_000)] for use, growth in growing]

    # four times the time would be linear, sixteen times is quadratic
    assert len(times) == len(QUADRATIC) and all(long > 6 * short and long > 0.02 for short, long in times), times


PLANTED = r"""
import enum
import re
from dataclasses import dataclass
from functools import cache

_BLANK = r"\s*"
IN_TUPLE = (re.compile(_BLANK + r"tuple"), re.compile(r"fine"))
IN_DICT = {"a": re.compile(rf"{_BLANK}dict")}
IN_LIST = [re.compile(text) for text in (r"\s*list",)]
FIRST, SECOND = re.compile(r"\s*first"), re.compile(r"\s*second")


class Kind(enum.Enum):
    BLANK = re.compile(r"\s*enum")


class Reader:
    mark = re.compile(r"\s*class")


@dataclass
class Fields:
    mark: re.Pattern = re.compile(r"\s*field")


def literal(text):
    return re.sub(r"\s*literal", "", text)


def built(text, word):
    return re.search(rf"{_BLANK}built{re.escape(word)}", text)


def compiled(text):
    mark = re.compile(
        r"\s*compiled",
        re.IGNORECASE,
    )
    return mark.search(text)


@cache
def factory(word):
    return re.compile(rf"\s*{word}")


def read(text, mark=FIRST):
    IN_MATCH.match(text)
    return [SECOND.split(text), *(mark.findall(text) for mark in (*IN_TUPLE, *IN_DICT.values(), *IN_LIST))]


IN_MATCH = re.compile(r"\s*match")
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> list[Use]:
    root: Path = tmp_path_factory.mktemp("planted")
    (root / "planted_patterns").mkdir()
    (root / "planted_patterns/__init__.py").write_text("")
    (root / "planted_patterns/readers.py").write_text(PLANTED)
    return collect_apart(root, ["planted_patterns"])


@pytest.mark.parametrize(
    "word", ["tuple", "dict", "list", "first", "second", "enum", "class", "field", "literal", "built", "compiled"]
)
def test_a_planted_pattern_is_found_wherever_it_is(planted, word):
    assert any(word in str(use.text) for use, _ in list_growing(planted))


def test_a_planted_pattern_is_named(planted):
    names = {use.name.partition(":")[2] for use, _ in list_growing(planted)}

    assert {"IN_TUPLE", "IN_DICT", "IN_LIST", "FIRST", "SECOND", "literal", "built", "mark"} <= names


def test_a_pattern_that_is_only_matched_begins_at_the_beginning(planted):
    assert [(use.searched, use.whole) for use in planted if "match" in str(use.text)] == [(False, False)]
    assert not any("match" in str(use.text) for use, _ in list_growing(planted))


def test_a_pattern_that_a_function_makes_of_its_argument_is_unknown(planted):
    assert {use.name for use in planted if use.text is None} == {"planted_patterns/readers.py:factory"}


def test_flags_count(planted):
    assert [use.flags & re.IGNORECASE for use in planted if "compiled" in str(use.text)] == [re.IGNORECASE]
