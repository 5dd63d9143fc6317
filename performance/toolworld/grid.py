"""The cells of the grid: which dials, which policy, which limits; and what so many tasks gave in each.

A cell is worked out whole and written as a line; a file that has its line already spares the work.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, product
from pathlib import Path
from statistics import mean
from typing import Any

from lumos_queue.benchmarks.toolworld.benchmark import SOLVABLE, UNSOLVABLE, benchmark
from lumos_queue.errors import SpecError
from lumos_queue.limits import Limits
from lumos_queue.records import Task
from lumos_queue.scoring.paired_tests import tango_interval
from lumos_queue.scoring.statistics import wilson
from performance.toolworld.memory_run import NAMES, Models, Result, break_all, play
from performance.toolworld.policies import Policies, RandomPolicy

SPLIT = "I2-inst"
EQUAL = Limits(calls=60)  #: the same number of model calls for all, and no other limit
LIMITS = {"papers": None, "equal": EQUAL}
CONTEXT = 12_000  #: characters of a prompt, where the ratio is a dial
#: Parts and links of a task. Within the papers' limits of depth a path has 4 to 6 calls, Finish among them.
WORLDS = {"1-4 links": {"parts": "1-2", "links": "1-2"}, "6 links": {"parts": "2", "links": "3"}}
FAULTS, RATIOS, TRAPS = (0.0, 0.5), (0.0, 0.8, 1.2), (0.0, 0.3, 1.0)
NOISY, ORACLE, RANDOM, BY_NAMES = "noisy", "oracle", "random", "by names"
PAIRS = (("react", "dfsdt"), ("react", "sum2act"), ("dfsdt", "sum2act"))


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the dials."""

    world: str
    faults: float = 0.0
    ratio: float = 0.0
    traps: float = 0.0
    policy: str = NOISY
    down: bool = False  #: every API is gone

    @property
    def label(self) -> str:
        told = f"{self.world}, faults {self.faults:g}, ratio {self.ratio:g}, traps {self.traps:g}"
        return f"{told}, {self.policy}{', all tools fail' if self.down else ''}"

    def tasks(self, many: int, unsolvable: float) -> list[Task]:
        """The first tasks of SPLIT with these dials; every cell of a world asks for the same."""
        options = {**WORLDS[self.world], "faults": f"{self.faults:g}", "traps": f"{self.traps:g}"}
        options["unsolvable"] = f"{unsolvable:g}"
        if self.ratio:
            options |= {"ratio": f"{self.ratio:g}", "context": str(CONTEXT)}
        found = [one for one in islice(benchmark.read(None, SPLIT, **options), many) if isinstance(one, Task)]
        return [break_all(one) for one in found] if self.down else found

    def models(self, seed: int, noise: float) -> Models:
        if self.policy == RANDOM:
            return RandomPolicy(seed)
        return Policies(seed, 0.0 if self.policy == ORACLE else noise, apart=self.policy != BY_NAMES)


def all_cells() -> list[Cell]:
    """The grid with the noisy policy, and what it is to be seen against."""
    found = [Cell(*one) for one in product(WORLDS, FAULTS, RATIOS, TRAPS)]
    for world in WORLDS:
        found += [
            Cell(world, 1.0, 0.0, 1.0, ORACLE),
            Cell(world, policy=RANDOM),
            Cell(world, down=True),
            Cell(world, traps=0.3, policy=BY_NAMES),
        ]
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """What is the same for all cells of a file."""

    tasks: int
    seed: int
    noise: float
    unsolvable: float

    def key(self, cell: Cell) -> dict[str, Any]:
        return asdict(self) | asdict(cell)


def measure(run: Run, cell: Cell) -> dict[str, Any]:
    """A cell's line: rows by limits and method, and the paired differences of verified pass."""
    tasks, models = cell.tasks(run.tasks, run.unsolvable), cell.models(run.seed, run.noise)
    context = CONTEXT if cell.ratio else 0
    rows, pairs = [], []
    for kind, limits in LIMITS.items():
        found = {name: [play(one, name, models, limits, context) for one in tasks] for name in NAMES}
        rows += [{"limits": kind, "method": name} | summary(results) for name, results in found.items()]
        pairs += [{"limits": kind} | difference(one, other, found[one], found[other]) for one, other in PAIRS]
    return {"key": run.key(cell), "rows": rows, "pairs": pairs}


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Shares with Wilson's interval of 95 %, and means of an episode."""
    verdicts = [one for result in results for one in result.verdicts]
    return {
        "pass": _share(results, SOLVABLE),
        "refusal": _share(results, UNSOLVABLE),
        "partial": mean(one.scores["partial"] for one in results),
        "false_finish": mean(one.scores["false_finish"] for one in results),
        "calls": mean(one.calls for one in results),
        "repeated": mean(one.repeated for one in results),
        "characters": mean(one.characters for one in results),
        "longest": max(one.longest for one in results),
        "endings": dict(Counter(one.ending for one in results)),
        "verdicts": len(verdicts),
        "misjudged": sum(said != true for said, true in verdicts),
    }


def _share(results: Sequence[Result], metric: str) -> dict[str, float]:
    values = [one.scores[metric] for one in results if metric in one.scores]
    low, high = wilson(int(sum(values)), len(values))
    return {"n": len(values), "share": mean(values) if values else 0.0, "low": low, "high": high}


def difference(one: str, other: str, first: Sequence[Result], second: Sequence[Result]) -> dict[str, Any]:
    """How much more of the solvable tasks `other` passes, with Tango's interval of 95 %."""
    verdicts = [
        (a.scores[SOLVABLE], b.scores[SOLVABLE]) for a, b in zip(first, second, strict=True) if SOLVABLE in a.scores
    ]
    fixed, broken, n = sum(a < b for a, b in verdicts), sum(a > b for a, b in verdicts), len(verdicts)
    low, high = tango_interval(fixed, broken, n)
    found = (fixed - broken) / n if n else 0.0
    return {"from": one, "to": other, "n": n, "difference": found, "low": low, "high": high}


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The cells that a file has; a last line that was cut off is passed over. Raises SpecError for another file."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            found = json.loads(line) if line else None
        except ValueError:
            if number == len(lines):
                return
            raise SpecError(
                f"'{path}', line {number}, is not a cell of this grid: give another file with --out."
            ) from None
        if found is not None:
            yield found


def work(run: Run, cells: Sequence[Cell], path: Path, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """The lines of all cells; those that the file does not have are worked out and added to it, one by one."""
    known = {json.dumps(one["key"], sort_keys=True): one for one in read_lines(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and (text := path.read_text(encoding="utf-8")) and not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")  # the line that was cut off
    found = []
    with path.open("a", encoding="utf-8") as file:
        for cell in cells:
            line = known.get(json.dumps(run.key(cell), sort_keys=True))
            if line is None:
                line = measure(run, cell)
                file.write(json.dumps(line) + "\n")
                file.flush()
                tell(cell.label)
            found.append(line)
    return found
