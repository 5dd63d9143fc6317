"""All measurements that some goals need, and what is found for each goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from performance import claims, latency, memory, submits
from performance.goals import OTHERS, RATIOS, Goal, Ratio
from performance.runs import Pair, run, run_round
from performance.scenarios import SCENARIOS, Scenario
from performance.servers import Servers
from performance.statistics import Estimate, estimate

#: The parts beside the rounds: the goals that each serves begin with one of these words.
PARTS: dict[str, tuple[str, ...]] = {
    "flushes": ("flush",),
    "submits": ("submit",),
    "claims": ("claim", "churn"),
    "memory": ("memory",),
    "latency": ("latency",),
}
FSYNC = " / fsync"  #: after a goal's key: the same ratio to the loop that makes each episode durable
AT_ONCE = Scenario("0", 0.0, 256, 1200)


@dataclass
class Measurements:
    """Values by goal (one of each pair), reasons by goal or contender, and everything that was measured."""

    values: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    rounds: list[dict[str, Any]] = field(default_factory=list)

    def estimate(self, key: str) -> Estimate | None:
        values = self.values.get(key)
        return estimate(values) if values else None


def choose_goals(words: Sequence[str]) -> list[Goal]:
    """The goals whose key begins with one of the words; all without words. Raises ValueError for an unused word."""
    goals: list[Goal] = [*RATIOS, *OTHERS]
    for word in words:
        if not any(goal.key.startswith(word) for goal in goals):
            raise ValueError(f"no goal begins with '{word}': {', '.join(goal.key for goal in goals)}")
    return [goal for goal in goals if not words or goal.key.startswith(tuple(words))]


def collect(goals: Sequence[Goal], pairs: int, quick: bool, servers: Servers | None, tell: Callable) -> Measurements:
    """Measure what these goals need: rounds over the scenarios first, then the parts that stand alone."""
    measurements = Measurements()
    ratios = [goal for goal in goals if isinstance(goal, Ratio)]
    for number in range(pairs if ratios else 0):
        for name, scenario in SCENARIOS.items():
            scenario_goals = [goal for goal in ratios if goal.scenario == name]
            names = {goal.contender for goal in scenario_goals} | {goal.against for goal in scenario_goals}
            names |= {"ref-fsync"} if "ref" in names else set()
            if scenario_goals:
                round_pairs, failures = run_round(sorted(names - {"needed"}), scenario, number, servers, quick, tell)
                measurements.reasons |= failures
                measurements.rounds.append(
                    {"scenario": name, "pairs": {key: asdict(pair) for key, pair in round_pairs.items()}}
                )
                for goal in scenario_goals:
                    both = (goal, replace(goal, key=goal.key + FSYNC, against="ref-fsync"))
                    for variant in both if goal.against == "ref" else (goal,):
                        if (value := ratio(variant, round_pairs)) is not None:
                            measurements.values.setdefault(variant.key, []).append(value)
    for part, words in PARTS.items():
        if any(goal.key.startswith(words) for goal in goals):
            tell(part)
            try:
                measurements.values |= _PARTS[part](servers, pairs, quick)
            except Exception as reason:  # one part that fails must not cost the others' results
                measurements.reasons |= dict.fromkeys(words, f"{type(reason).__name__}: {str(reason)[:300]}")
    return measurements


def ratio(goal: Ratio, pairs: dict[str, Pair]) -> float | None:
    """The figure of the goal's contender over that of the other one, in one round; None where one is missing."""
    if goal.contender not in pairs:
        return None
    pair = pairs[goal.contender]
    if goal.against == "needed":
        return pair.own.calls / pair.own.needed
    if goal.against == "ref":
        baseline = pair.ref
    elif goal.against in pairs:
        baseline = pairs[goal.against].own
    else:
        return None
    return getattr(pair.own, goal.figure) / getattr(baseline, goal.figure)


def reason(goal: Goal, measurements: Measurements) -> str:
    """Why there is no value for a goal."""
    if isinstance(goal, Ratio):
        return (
            measurements.reasons.get(goal.contender)
            or measurements.reasons.get(goal.against)
            or measurements.reasons.get("ref", "")
        )
    return next(
        (why for word, why in measurements.reasons.items() if goal.key.startswith(word)), "not part of this run"
    )


def flushes(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """Milliseconds until a step is durable, at no latency."""
    extras = [run("flushes", AT_ONCE, servers, quick).extra for _ in range(pairs)]
    return {f"flush-{name}": [extra[f"flush_{name}"] for extra in extras] for name in ("p50", "p99")}


_PARTS = {
    "flushes": flushes,
    "submits": submits.measure,
    "claims": claims.measure,
    "memory": memory.measure,
    "latency": latency.measure,
}
