"""How fast the endpoint is and how much of it is asked for; and the best that anybody could do with it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    latency: float  #: seconds of every call
    slots: int  #: calls the endpoint works on at once; also the episodes in flight
    episodes: int  #: measured in one run, of about ten calls each


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("B", 0.05, 64, 500),
        Scenario("C", 0.2, 256, 800),
        Scenario("D", 0.05, 256, 1200),
    )
}


def best_schedule(calls: Iterable[int], slots: int, latency: float) -> float:
    """Seconds that list scheduling needs: each episode, in order, starts in the slot that is free first.

    An episode's calls follow each other, so it keeps its slot to its end.
    """
    free = [0.0] * slots
    for count in calls:
        heapq.heapreplace(free, free[0] + count * latency)
    return max(free)
