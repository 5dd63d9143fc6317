"""The result of a case: one row of the table, with its problems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

COLUMNS = (
    "case",
    "database",
    "broker",
    "items",
    "lost",
    "duplicated",
    "stale",
    "broken",
    "needed",
    "at endpoint",
    "wasted",
    "bound",
    "recovery s",
    "seconds",
    "verdict",
)

TEXTS = (0, 1, 2, 14)  #: columns that are not numbers


@dataclass
class Result:
    """Counts of one case."""

    case: str = ""
    database: str = ""
    broker: str = ""
    items: int = 0
    lost: int = 0  #: items that did not reach the state that the case requires
    duplicated: int = 0  #: calls repeated although their reply was stored, and duplicate rows
    stale: int = 0  #: rows written under a stale fence
    broken: dict[str, list] = field(default_factory=dict)  #: broken invariants, with rows that violate them
    needed: int = 0  #: calls of the accepted results, or stored for pending results
    at_endpoint: int = 0
    bound: int | None = None  #: maximum of wasted calls; None: no bound
    recovery: float | None = None  #: longest time in seconds from a fault's end to the next stored completion
    seconds: float = 0.0
    notes: str = ""  #: further observations
    skipped: bool = False  #: whether the machine does not allow the case
    problems: list[str] = field(default_factory=list)  #: why the case fails

    @property
    def wasted(self) -> int:
        return self.at_endpoint - self.needed

    @property
    def passed(self) -> bool:
        return not self.problems

    @property
    def verdict(self) -> str:
        return "skip" if self.skipped else "pass" if self.passed else "FAIL"

    def judge(self) -> None:
        """Add the problems that no case may have."""
        if self.lost:
            self.problems.append(f"{self.lost} items lost")
        if self.duplicated:
            self.problems.append(f"{self.duplicated} recorded calls repeated")
        if self.stale:
            self.problems.append(f"{self.stale} rows under a stale fence")
        self.problems += [f"{name}: {rows}" for name, rows in self.broken.items()]
        if self.bound is not None and not 0 <= self.wasted <= self.bound:
            self.problems.append(f"{self.wasted} calls wasted, at most {self.bound} may be")

    def cells(self) -> list[str]:
        return [
            self.case,
            self.database,
            self.broker or "-",
            str(self.items),
            str(self.lost),
            str(self.duplicated),
            str(self.stale),
            str(len(self.broken)),
            str(self.needed),
            str(self.at_endpoint),
            str(self.wasted),
            "-" if self.bound is None else str(self.bound),
            "-" if self.recovery is None else f"{self.recovery:.1f}",
            f"{self.seconds:.0f}",
            self.verdict,
        ]

    def as_json(self) -> dict:
        return {**vars(self), "wasted": self.wasted, "verdict": self.verdict}


def format_table(results: Iterable[Result]) -> str:
    """Format all results as a text table, with the problems and notes below it."""
    results = list(results)
    rows = [list(COLUMNS), *(result.cells() for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if index in TEXTS else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    for result in results:
        lines += [f"FAIL {result.case}: {problem}" for problem in result.problems]
    lines += [f"{result.case}: {result.notes}" for result in results if result.notes]
    return "\n".join(lines)
