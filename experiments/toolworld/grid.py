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

from experiments.toolworld.memory_run import NAMES, Models, Result, break_all, play
from experiments.toolworld.policies import Policies, RandomPolicy
from lumos_queue.benchmarks.toolworld.benchmark import SOLVABLE, UNSOLVABLE, benchmark
from lumos_queue.errors import SpecError
from lumos_queue.limits import Limits
from lumos_queue.prompts.function_list import DESCRIPTIONS, SHOWN
from lumos_queue.records import Task
from lumos_queue.scoring.paired_tests import tango_interval
from lumos_queue.scoring.statistics import wilson

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
        dials = f"{self.world}, faults {self.faults:g}, ratio {self.ratio:g}, traps {self.traps:g}"
        return f"{dials}, {self.policy}{', all tools fail' if self.down else ''}"

    def tasks(self, many: int, unsolvable: float, descriptions: str = SHOWN) -> list[Task]:
        """The first tasks of SPLIT with these dials; every cell of a world asks for the same."""
        options = {**WORLDS[self.world], "faults": f"{self.faults:g}", "traps": f"{self.traps:g}"}
        options |= {"unsolvable": f"{unsolvable:g}", DESCRIPTIONS: descriptions}
        if self.ratio:
            options |= {"ratio": f"{self.ratio:g}", "context": str(CONTEXT)}
        tasks = [task for task in islice(benchmark.read(None, SPLIT, **options), many) if isinstance(task, Task)]
        return [break_all(task) for task in tasks] if self.down else tasks

    def models(self, seed: int, noise: float) -> Models:
        if self.policy == RANDOM:
            return RandomPolicy(seed)
        return Policies(seed, 0.0 if self.policy == ORACLE else noise, apart=self.policy != BY_NAMES)


def all_cells() -> list[Cell]:
    """Return the grid with the noisy policy, and the cells to which it is compared."""
    cells = [Cell(*dials) for dials in product(WORLDS, FAULTS, RATIOS, TRAPS)]
    for world in WORLDS:
        cells += [
            Cell(world, 1.0, 0.0, 1.0, ORACLE),
            Cell(world, policy=RANDOM),
            Cell(world, down=True),
            Cell(world, traps=0.3, policy=BY_NAMES),
        ]
    return cells


@dataclass(frozen=True, slots=True)
class Run:
    """What is the same for all cells of a file."""

    tasks: int
    seed: int
    noise: float
    unsolvable: float
    descriptions: str = SHOWN  #: yes or no: whether prompts have the descriptions of tools and arguments

    def key(self, cell: Cell) -> dict[str, Any]:
        return asdict(self) | asdict(cell)


def measure(run: Run, cell: Cell) -> dict[str, Any]:
    """A cell's line: rows by limits and method, and the paired differences of verified pass."""
    tasks, models = cell.tasks(run.tasks, run.unsolvable, run.descriptions), cell.models(run.seed, run.noise)
    context, settings = CONTEXT if cell.ratio else 0, {DESCRIPTIONS: run.descriptions}
    rows, pairs = [], []
    for kind, limits in LIMITS.items():
        results_by_method = {
            name: [play(task, name, models, limits, context, settings) for task in tasks] for name in NAMES
        }
        rows += [{"limits": kind, "method": name} | summary(results) for name, results in results_by_method.items()]
        pairs += [
            {"limits": kind} | difference(first, second, results_by_method[first], results_by_method[second])
            for first, second in PAIRS
        ]
    return {"key": run.key(cell), "rows": rows, "pairs": pairs}


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Shares with Wilson's interval of 95 %, and means of an episode."""
    verdicts = [verdict for result in results for verdict in result.verdicts]
    return {
        "pass": _share(results, SOLVABLE),
        "refusal": _share(results, UNSOLVABLE),
        "partial": mean(result.scores["partial"] for result in results),
        "false_finish": mean(result.scores["false_finish"] for result in results),
        "calls": mean(result.calls for result in results),
        "repeated": mean(result.repeated for result in results),
        "characters": mean(result.characters for result in results),
        "longest": max(result.longest for result in results),
        "endings": dict(Counter(result.ending for result in results)),
        "verdicts": len(verdicts),
        "misjudged": sum(verdict != true for verdict, true in verdicts),
    }


def _share(results: Sequence[Result], metric: str) -> dict[str, float]:
    values = [result.scores[metric] for result in results if metric in result.scores]
    low, high = wilson(int(sum(values)), len(values))
    return {"n": len(values), "share": mean(values) if values else 0.0, "low": low, "high": high}


def difference(first_name: str, second_name: str, first: Sequence[Result], second: Sequence[Result]) -> dict[str, Any]:
    """How much more of the solvable tasks the second method passes, with Tango's interval of 95 %."""
    verdicts = [
        (a.scores[SOLVABLE], b.scores[SOLVABLE]) for a, b in zip(first, second, strict=True) if SOLVABLE in a.scores
    ]
    gains, losses, n = sum(a < b for a, b in verdicts), sum(a > b for a, b in verdicts), len(verdicts)
    low, high = tango_interval(gains, losses, n)
    gain = (gains - losses) / n if n else 0.0
    return {"from": first_name, "to": second_name, "n": n, "difference": gain, "low": low, "high": high}


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The cells that a file has; an incomplete last line is skipped. Raises SpecError for another file."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        try:
            cell = json.loads(line) if line else None
        except ValueError:
            if number == len(lines):
                return
            raise SpecError(
                f"'{path}', line {number}, is not a cell of this grid: give another file with --out."
            ) from None
        if cell is not None:
            yield cell


def work(run: Run, cells: Sequence[Cell], path: Path, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """The lines of all cells; those that the file does not have are worked out and added to it, one by one."""
    known_lines = {json.dumps(line["key"], sort_keys=True): line for line in read_lines(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and (text := path.read_text(encoding="utf-8")) and not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")  # the line that was cut off
    lines = []
    with path.open("a", encoding="utf-8") as file:
        for cell in cells:
            line = known_lines.get(json.dumps(run.key(cell), sort_keys=True))
            if line is None:
                line = measure(run, cell)
                file.write(json.dumps(line) + "\n")
                file.flush()
                tell(cell.label)
            lines.append(line)
    return lines
