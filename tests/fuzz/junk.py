"""Texts that break readers: long runs, deep brackets, control characters, huge numbers, HTML, SQL, code, dates, JSON.

Each kind is a function of a random generator and a length in characters; `make_junk` chooses both. The texts of most
kinds are in junk.toml.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

Junk = Callable[[random.Random, int], str]
_TEXTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
UNITS = (*_TEXTS["units"], "\ud800", "\udfff")
_REPEATED = re.compile("⟨([^⟩×]+)(?:×([0-9]+))?⟩")
_TAILS = ("", "", "", "x", "\n", ")", "1", "!", "\x00", " = 1")
_BRACKETS = (
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
    ("([{<", ">}])"),
    ('{"a":', "}"),
    ("f(", ")"),
    ("[[", "]]"),
)
#: Ranges of characters: controls, marks of direction, combining marks, halves, private, none, tags, ASCII.
_RANGES = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x300, 0x36F),
    (0xD800, 0xDFFF),
    (0xE000, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFFF0, 0xFFFF),
    (0xE0000, 0xE007F),
    (0x20, 0x7E),
)
#: Shares of texts, and the limits of their lengths; the other texts have the greatest length.
_LENGTHS = ((0.30, 60), (0.25, 3_000), (0.15, 30_000), (0.15, 200_000))


def make_junk(rng: random.Random, max_characters: int) -> str:
    """Return a text of one kind and at most `max_characters`. Most texts are short, and some of full length."""
    share = rng.random()
    length = max_characters
    for part, bound in _LENGTHS:
        share -= part
        if share < 0:
            length = min(max_characters, rng.randint(1, bound))
            break
    return rng.choice(KINDS)(rng, length)[:max_characters]


def _make_run(rng: random.Random, length: int) -> str:
    """Return one unit many times, sometimes with a text before and after."""
    unit = rng.choice(UNITS)
    return rng.choice(_TAILS) + unit * max(1, length // len(unit)) + rng.choice(_TAILS)


def _make_runs(rng: random.Random, length: int) -> str:
    """Return a few runs in a row, for patterns of several parts."""
    many = rng.randint(2, 6)
    return "".join(_make_run(rng, length // many) for _ in range(many))


def _weave(rng: random.Random, length: int) -> str:
    """Return two to four units in turn."""
    cycle = "".join(rng.choice(UNITS) for _ in range(rng.randint(2, 4)))
    return cycle * max(1, length // len(cycle)) + rng.choice(_TAILS)


def _mix(rng: random.Random, length: int) -> str:
    """Return units in random order."""
    return "".join(rng.choices(UNITS, k=max(1, length // 3)))


def _nest(rng: random.Random, length: int) -> str:
    """Return nested brackets of one or all kinds: balanced, not closed, or not opened."""
    opening_bracket, closing_bracket = rng.choice(_BRACKETS)
    depth = max(1, length // (len(opening_bracket) + len(closing_bracket)))
    kind = rng.randrange(4)
    inner = rng.choice(("", "1", "R1", "x", "null"))
    return (opening_bracket * depth if kind != 1 else "") + inner + (closing_bracket * depth if kind != 2 else "")


def _make_characters(rng: random.Random, length: int) -> str:
    """Return characters of three ranges."""
    ranges = rng.choices(_RANGES, k=3)
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(min(length, 20_000)))


def _fill_in(kind: str, rng: random.Random, length: int) -> str:
    """Return a text of junk.toml."""
    template = rng.choice(_TEXTS[kind])
    unit_length = sum(len(match[1]) for match in _REPEATED.finditer(template)) or 1
    times = max(1, length // unit_length)
    return _REPEATED.sub(lambda match: match[1] * min(times, int(match[2] or times)), template)


_WRITTEN = tuple(partial(_fill_in, kind) for kind in _TEXTS if kind != "units")
KINDS: tuple[Junk, ...] = (_make_run, _make_run, _make_runs, _weave, _mix, _nest, _make_characters, *_WRITTEN)
