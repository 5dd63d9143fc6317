"""What is to be reached: each goal is a ratio of one contender to another, or a figure of one of the other parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from performance.statistics import CONFIDENCE, Estimate

Verdict = Literal["met", "missed", "undecided", "too few", "not run", ""]


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and its limit. `limit` None: the figure is for comparison only."""

    key: str
    text: str
    limit: float | None
    at_least: bool = False  #: else at most
    digits: int = 2

    def verdict(self, estimate: Estimate | None) -> Verdict:
        """Met by the median; missed only when the whole interval is on the wrong side; else undecided.

        With too few values for an interval, the verdict is "too few".
        """
        if estimate is None:
            return "not run"
        if self.limit is None:
            return ""
        if estimate.confidence < CONFIDENCE:
            return "too few"
        if self._meets(estimate.median):
            return "met"
        return "undecided" if self._meets(estimate.high if self.at_least else estimate.low) else "missed"

    def _meets(self, value: float) -> bool:
        # As printed: 1.004 meets 1.00, or nobody could see why it does not.
        value = round(value, self.digits)
        return self.limit is not None and (value >= self.limit if self.at_least else value <= self.limit)


@dataclass(frozen=True, slots=True)
class Ratio(Goal):
    """`figure` of `contender` over that of `against`, in adjacent runs of one scenario.

    A ratio to `ref` is also taken to `ref-fsync`, the loop that makes each episode durable as this project does.
    """

    scenario: str = "B"
    contender: str = "embedded"
    figure: str = "cpu_per_1000"
    against: str = "ref"


def _ratio(key: str, text: str, limit: float | None, *where: str, at_least: bool = False) -> Ratio:
    return Ratio(key, text, limit, at_least, 2, *where)


RATIOS = (
    *(_ratio(f"cpu-embedded-{s}", f"{s}: CPU per call, embedded / ref", 0.9, s, "embedded") for s in "BD"),
    *(
        _ratio(f"cpu-workers-{s}", f"{s}: CPU per call, 2 processes with servers / ref", limit, s, "workers-2")
        for s, limit in (("B", 1.7), ("D", 2.2))
    ),
    *(
        _ratio(
            f"cpu-client-{s}",
            f"{s}: CPU per call, 2 processes, client alone / ref",
            1.75,
            s,
            "workers-2",
            "client_cpu_per_1000",
        )
        for s in "BD"
    ),
    _ratio(
        "cpu-peer-B",
        "B: CPU per call, 2 processes with servers / best peer",
        0.45,
        "B",
        "workers-2",
        "cpu_per_1000",
        "threads",
    ),
    *(
        _ratio(f"fill-{s}", f"{s}: best schedule / actual, embedded / ref", 0.97, s, "embedded", "fill", at_least=True)
        for s in "BC"
    ),
    *(
        _ratio(
            f"fill-worker-{s}",
            f"{s}: best schedule / actual, 1 Celery process / ref",
            0.97,
            s,
            "workers-1",
            "fill",
            at_least=True,
        )
        for s in "BC"
    ),
    _ratio("rate-D", "D: calls/s, embedded / ref", 1.1, "D", "embedded", "rate", at_least=True),
    _ratio("rate-peer-D", "D: calls/s, embedded / best peer", 1.7, "D", "embedded", "rate", "threads", at_least=True),
    _ratio(
        "storage-D",
        "D: CPU per call, stored step by step / at the episode's end",
        1.15,
        "D",
        "embedded",
        "cpu_per_1000",
        "at-end",
    ),
    _ratio("calls-embedded", "B: calls made / needed, embedded", 1.0, "B", "embedded", "calls", "needed"),
    _ratio("calls-workers", "B: calls made / needed, 2 processes", 1.0, "B", "workers-2", "calls", "needed"),
    # For comparison.
    _ratio("rate-workers-D", "D: calls/s, 2 processes / ref", None, "D", "workers-2", "rate"),
    _ratio("cpu-worker-B", "B: CPU per call, 1 Celery process with servers / ref", None, "B", "workers-1"),
    _ratio("cpu-workers4-B", "B: CPU per call, 4 processes with servers / ref", None, "B", "workers-4"),
    _ratio("cpu-threads-B", "B: CPU per call, Celery task per episode, threads / ref", None, "B", "threads"),
    _ratio("cpu-prefork-B", "B: CPU per call, Celery task per episode, prefork / ref", None, "B", "prefork"),
    _ratio("cpu-inspect-B", "B: CPU per call, inspect-ai / ref", None, "B", "inspect"),
    _ratio("fill-inspect-B", "B: best schedule / actual, inspect-ai / ref", None, "B", "inspect", "fill"),
)

OTHERS = (
    Goal("flush-p99", "flush at no latency: ms until a step is durable, p99", 100, digits=0),
    Goal("flush-p50", "flush at no latency: ms until a step is durable, p50", None, digits=0),
    Goal("submit-sqlite", "submit 10,000 items, SQLite: CPU-s of the client", 0.2),
    Goal("submit-postgres", "submit 10,000 items, PostgreSQL: CPU-s of the client", 0.2),
    Goal("submit-100k-sqlite", "submit 100,000 items, SQLite: CPU-s of the client", None),
    Goal("submit-100k-postgres", "submit 100,000 items, PostgreSQL: CPU-s of the client", None),
    Goal("claim-sqlite", "claim of 64 among 10^6 / among 10^5, SQLite", 1.3),
    Goal("claim-postgres", "claim of 64 among 10^6 / among 10^5, PostgreSQL", 1.3),
    Goal("claim-ms-sqlite", "claim of 64 among 10^6, SQLite: ms", 1.0),
    Goal("claim-ms-postgres", "claim of 64 among 10^6, PostgreSQL: ms", 1.0),
    Goal("churn-sqlite", "SQLite: claim after churn, old snapshot open / none", None),
    Goal("churn-fresh-sqlite", "the same, the first claim of a slice", None),
    Goal("churn-postgres", "PostgreSQL: claim after churn, old snapshot open / none", None),
    Goal("churn-fresh-postgres", "the same, the first claim of a slice", None),
    Goal("memory-embedded", "PSS at 256 in flight, embedded: MB", 200, digits=0),
    Goal("memory-worker", "PSS at 256 in flight, Celery process: MB", 200, digits=0),
    Goal("memory-growth-embedded", "PSS at ten times the episodes, embedded / once", 1.10),
    Goal("memory-growth-worker", "PSS at ten times the episodes, Celery process / once", 1.10),
    Goal("latency", "job committed until first request, warm workers: ms", None, digits=0),
)
