"""The dials of ToolWorld: settings for faults and difficulty, by `--option NAME=VALUE`; and the seeds of each split."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lumos_queue.actions.tools.world import LOOKALIKES
from lumos_queue.errors import SpecError, unknown

TRAIN = "train"
#: Split to the number of its tasks. The order determines the seeds of each split: never change it.
SIZES = {"train": 20_000, "I1-inst": 500, "I1-tool": 500, "I1-cat": 500, "I2-inst": 500, "I2-cat": 500, "I3-inst": 500}
SEEDS = 1_000  #: of each split; splits have different seeds, because the same seed makes the same tasks in every split
MAX_PARTS, MAX_LINKS, MAX_APIS = 3, 3, 4
MIN_DIGITS, MAX_DIGITS = 3, 5
MAX_RATIO, MAX_CONTEXT = 10.0, 1_000_000
OPTIONS = {
    "parts": f"parts of a task: N or LOW-HIGH, from 1 to {MAX_PARTS} (default 1-{MAX_PARTS})",
    "links": f"calls that each part needs: N or LOW-HIGH, from 1 to {MAX_LINKS} (default 1-{MAX_LINKS})",
    "apis": f"APIs that answer a link, from 1 to {MAX_APIS} (default 2)",
    "lookalikes": f"look-alikes of a link, which do not answer it, from 0 to {len(LOOKALIKES)} (default 2)",
    "digits": f"digits of the numbers of ids and values, from {MIN_DIGITS} to {MAX_DIGITS} (default {MAX_DIGITS})",
    "faults": "share of the links one of whose APIs is faulty, from 0 to 1 (default 0)",
    "traps": "share of the look-alikes after which their part is locked, from 0 to 1 (default 0)",
    "unsolvable": "share of the parts that cannot be answered, from 0 to 1 (default 0.1)",
    "ratio": f"characters of the gold transcript, as a multiple of `context`, to {MAX_RATIO:g}: answers become longer",
    "context": "with ratio: characters that a model's prompt may have",
    "descriptions": "yes (default): documents describe their tools, as in ToolBench; no: the tasks of earlier releases",
    "seed": f"seed of the tasks: each split has {SEEDS:,} seeds (default: its first)",
}
_RANGE = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_SHARE = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?|\.[0-9]{1,6}")
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Dials:
    """The settings of all tasks of a job. Ranges include both ends."""

    seed: int
    parts: Range = (1, MAX_PARTS)
    links: Range = (1, MAX_LINKS)
    apis: int = 2
    lookalikes: int = 2
    digits: int = MAX_DIGITS
    faults: float = 0.0
    traps: float = 0.0
    unsolvable: float = 0.1
    ratio: float = 0.0  #: 0: the answers of APIs are not longer than their facts
    context: int = 0  #: characters
    descriptions: bool = True  #: whether documents describe their tools, and `context` counts all descriptions


def read_dials(split: str, options: Mapping[str, str]) -> Dials:
    """Return the dials for these options. Raises SpecError for an unknown split or option, or an invalid value."""
    if split not in SIZES:
        raise unknown("split of toolworld", split, SIZES)
    for name in options:
        if name not in OPTIONS:
            raise unknown("option of toolworld", name, OPTIONS)
    dials = Dials(
        seed=_read_seed(split, options),
        parts=_read_range(options, "parts", MAX_PARTS),
        links=_read_range(options, "links", MAX_LINKS),
        apis=_read_whole(options, "apis", 2, 1, MAX_APIS, "without an API no link can be followed"),
        lookalikes=_read_whole(options, "lookalikes", 2, 0, len(LOOKALIKES)),
        digits=_read_whole(options, "digits", MAX_DIGITS, MIN_DIGITS, MAX_DIGITS),
        faults=_read_share(options, "faults", 0.0),
        traps=_read_share(options, "traps", 0.0),
        unsolvable=_read_share(options, "unsolvable", 0.1),
        ratio=_read_share(options, "ratio", 0.0, MAX_RATIO),
        context=_read_whole(options, "context", 0, 1, MAX_CONTEXT),
        descriptions=_read_yes_no(options, "descriptions"),
    )
    if bool(dials.ratio) != bool(dials.context):
        option, partner = ("ratio", "context") if dials.ratio else ("context", "ratio")
        raise SpecError(f"--option {option}=… needs --option {partner}=…: give both options, or neither.")
    if dials.faults and dials.apis == 1:
        raise SpecError("--option faults=… needs links with a second API that works: give --option apis=2 or more.")
    if dials.traps and not dials.lookalikes:
        raise SpecError(
            "--option traps=… turns look-alikes into traps, but lookalikes=0 leaves no look-alikes: give only one of "
            "these options."
        )
    return dials


def seeds_of(split: str) -> range:
    """Return the seeds that only this split may use."""
    first = list(SIZES).index(split) * SEEDS
    return range(first, first + SEEDS)


def _read_seed(split: str, options: Mapping[str, str]) -> int:
    split_seeds = seeds_of(split)
    text = options.get("seed", str(split_seeds[0]))
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise _option_error(
            "seed", text, f"a whole number from {split_seeds[0]:,} to {split_seeds[-1]:,} for '{split}'"
        )
    if int(text) not in split_seeds:
        owner = next((name for name in SIZES if int(text) in seeds_of(name)), "")
        reason = f"is a seed of '{owner}', and no two splits may have the same tasks" if owner else "is no split's seed"
        raise SpecError(
            f"--option seed={text} {reason}: '{split}' has the seeds {split_seeds[0]} to {split_seeds[-1]}."
        )
    return int(text)


def _read_whole(options: Mapping[str, str], name: str, default: int, low: int, high: int, why: str = "") -> int:
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and low <= int(text) <= high):
        raise _option_error(name, text, f"a whole number from {low} to {high:,}{f': {why}' if why else ''}")
    return int(text)


def _read_share(options: Mapping[str, str], name: str, default: float, high: float = 1.0) -> float:
    text = options.get(name)
    if text is None:
        return default
    if not (_SHARE.fullmatch(text) and float(text) <= high):
        raise _option_error(name, text, f"a number from 0 to {high:g}")
    return float(text)


def _read_yes_no(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "yes")
    if text not in ("yes", "no"):
        raise _option_error(name, text, "yes or no")
    return text == "yes"


def _read_range(options: Mapping[str, str], name: str, high: int) -> Range:
    text = options.get(name, f"1-{high}")
    match = _RANGE.fullmatch(text)
    low, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= last <= high:
        raise _option_error(name, text, f"a whole number from 1 to {high}, or a range such as 1-{high}")
    return low, last


def _option_error(name: str, text: str, expectation: str) -> SpecError:
    return SpecError(f"--option {name}={text[:40]} cannot be read: expected {expectation}.")
