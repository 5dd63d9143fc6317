"""Patterns that the analysis of `growth` reports or cannot read, and the bounds of their times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """The limit of a pattern's text, in characters, and its origin."""

    characters: int
    reason: str


_QUESTIONS = "lumos_queue/rationales/questions"
_CALCULATIONS = "lumos_queue/rationales/maths/calculations.py"

#: The name of a pattern to its bound. The test measures the pattern on the longest such text.
BOUNDED = {
    "lumos_queue/actions/quantities/reading.py:_UNIT": Bound(
        4_000, "linear: the possessive repetition between two words has one way, which the analysis does not know"
    ),
    f"{_CALCULATIONS}:FORMULA": Bound(400, "MAX_CHARACTERS_BEFORE, and twice that in strip_formula"),
    f"{_CALCULATIONS}:plain": Bound(400, "a formula that FORMULA matched"),
    f"{_CALCULATIONS}:_RESULT": Bound(
        20_000, "linear: a number is read in one way, as it is atomic, which the analysis does not know"
    ),
    f"{_QUESTIONS}/answers.py:_HEDGE": Bound(400, "facts.MAX_CHARACTERS"),
    f"{_QUESTIONS}/bridges.py:_IN_PLACE": Bound(600, "bridges.MAX_CHARACTERS"),
    f"{_QUESTIONS}/comparisons.py:_BORN": Bound(600, "comparisons.MAX_CHARACTERS"),
    f"{_QUESTIONS}/comparisons.py:_HIGH": Bound(600, "comparisons.MAX_CHARACTERS"),
    f"{_QUESTIONS}/comparisons.py:_HEAD": Bound(600, "comparisons.MAX_CHARACTERS"),
    f"{_QUESTIONS}/comparisons.py:_BEFORE_BIRTH": Bound(2_000, "spans.MAX_CHARACTERS"),
    f"{_QUESTIONS}/predicates.py:_WHEN_IT_WAS": Bound(400, "facts.MAX_CHARACTERS"),
    f"{_QUESTIONS}/spans.py:_DATE": Bound(2_000, "spans.MAX_CHARACTERS"),
    f"{_QUESTIONS}/spans.py:_NAME": Bound(2_000, "spans.MAX_CHARACTERS"),
    "lumos_queue/scoring/letters.py:_DENIED": Bound(80, "letters._REACH"),
}

#: The name of a pattern that only a run decides to the reason why its time is bounded.
UNKNOWN = {
    "lumos_queue/actions/sql/dates.py:_read_fields": "one of _PARTS, which have no unbounded repetition",
    "lumos_queue/actions/sql/functions.py:_regexp": "SQLite's REGEXP runs in the child of a sandbox, which has a limit",
    "lumos_queue/benchmarks/toolworld/catalogue.py:_patterns": "fixed texts that begin with a fixed word",
    "lumos_queue/benchmarks/wordmath/composer/render.py:_use_pronouns": "a name of the benchmark, without signs",
    "lumos_queue/experts/names.py:_pattern": "fixed texts, all of them escaped",
    "lumos_queue/rationales/maths/link_evidence.py:_is_fraction": "two numbers around a stroke and at most two blanks",
    "lumos_queue/rationales/maths/stated_results.py:_is_written": "two numbers around blanks and a stroke",
    "lumos_queue/scoring/letters.py:_lists": "a letter and an escaped text around blanks",
    "lumos_queue/scoring/letters.py:_mentions": "an escaped text",
    "lumos_queue/util/loose_imports.py:LooseImports.__init__": "names of modules, for sources of listed plug-ins",
}
