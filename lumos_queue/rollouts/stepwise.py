"""Which of an episode's subgoals were right: judged by the gold values, and by rollouts from each prefix.

A *prefix* is an episode's first t subgoals with their actions and results; its *value* is what its last action gave.
It is right

- by gold, when its value is one of the gold annotation's results, in order: values and results are matched so that
  both stay in order, each is used once, and as many as possible match. So reaching the same result a second time
  does not count, nor does a result before one that is already matched;
- else by rollouts, when there are any: at least the given share of the tries that went on from it is right. The gold
  solution is not the only one: a step that is not in it may still lead to the answer;
- else it is wrong, when there is a gold annotation, and not judged, when there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of_episode
from lumos_queue.builds.stages import Stage, same_value, stages_of
from lumos_queue.execution.prefill import source_row
from lumos_queue.records import Annotation, Task
from lumos_queue.rollouts.derivation import Derivation, ExcludedEpisode, formulation_of, gold_of, require_ended

if TYPE_CHECKING:
    from db.trajectories import StoredEpisode

GOLD, ROLLOUTS = "gold", "rollouts"


@dataclass(frozen=True, slots=True)
class RolloutCounts:
    """Rollouts from one prefix: how many were asked for, how many have ended, how many of those are right."""

    asked: int
    ended: int
    right: int


@dataclass(frozen=True, slots=True)
class StepLabel:
    """What is known about one prefix. `right` is None when nothing judges it, or its rollouts have not all ended."""

    right: bool | None
    by: str  #: 'gold', 'rollouts', or '' when nothing does
    tries: RolloutCounts | None


def prefixes(at: str, unsettled: bool) -> Callable[[StoredEpisode], Mapping[str, Sequence[Derivation]]]:
    """How an episode's rollouts begin: `at` is 'each' of its prefixes, or only the 'last', which is all its subgoals.

    With `unsettled`, only prefixes that are not right by gold.
    """

    def make(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
        require_ended(episode)
        stages = _stages(episode)
        found = gold_hits(stages, _gold(open_benchmark_of_episode(episode), episode.task)) if unsettled else ()
        wanted = range(1, len(stages) + 1) if at == "each" else [len(stages)]
        chosen = [number for number in wanted if not (found and found[number - 1])]
        if not chosen:
            raise ExcludedEpisode("every value is a gold one")
        return {"": [_prefix(stages, number) for number in chosen]}

    return make


def gold_hits(stages: Sequence[Stage], gold: Annotation | None) -> list[bool]:
    """For each prefix, whether its value is a gold result: of a longest common subsequence of both, the earliest."""
    results = [result for step in gold.steps for result in step.results if result] if gold else []
    values = [stage.value for stage in stages]
    same = [[value is not None and same_value(value, one) for one in results] for value in values]
    longest = [[0] * (len(results) + 1) for _ in range(len(values) + 1)]  # of what is left of both from there on
    for v in reversed(range(len(values))):
        for g in reversed(range(len(results))):
            longest[v][g] = max(longest[v + 1][g], longest[v][g + 1], same[v][g] + longest[v + 1][g + 1])
    hits, g = [], 0
    for v in range(len(values)):
        # The first result that it may be matched with and still leave the most for the values after it.
        candidates = (n for n in range(g, len(results)) if same[v][n] and 1 + longest[v + 1][n + 1] == longest[v][g])
        match = next(candidates, None)
        hits.append(match is not None)
        g = g if match is None else match + 1
    return hits


def judge(
    stages: Sequence[Stage], gold: Annotation | None, rollouts: Mapping[int, RolloutCounts], threshold: float
) -> list[StepLabel]:
    """A label for each prefix. `rollouts` are by the number of subgoals they went on from."""
    labels = []
    for number, hit in enumerate(gold_hits(stages, gold), start=1):
        tries = rollouts.get(number)
        if hit:
            labels.append(StepLabel(True, GOLD, tries))
        elif tries:
            over = tries.ended == tries.asked
            labels.append(StepLabel(tries.right >= threshold * tries.asked if over else None, ROLLOUTS, tries))
        elif gold:
            labels.append(StepLabel(False, GOLD, None))
        else:
            labels.append(StepLabel(None, "", None))
    return labels


def stepwise_row(
    episode: StoredEpisode, rollouts: Mapping[int, RolloutCounts], job: str, threshold: float
) -> dict[str, Any]:
    """A row of stepwise supervision with its lineage: `prompt`, `completions` (one for each subgoal), `labels`.

    A label that nothing decides is None: such a row is not a training row yet.
    """
    stages = _stages(episode)
    labels = judge(stages, _gold(open_benchmark_of_episode(episode), episode.task), rollouts, threshold)
    row = source_row(episode.task)
    return {
        "prompt": episode.task.question,
        "completions": [stage.lines() for stage in stages],
        "labels": [label.right for label in labels],
        "by": [label.by for label in labels],
        "rollouts": [[label.tries.right, label.tries.asked] if label.tries else None for label in labels],
        "id": f"{episode.task.benchmark}/{row}",
        "episode": episode.name,
        "job": job,
        "split": episode.split,
        "licence": episode.licence,
    }


def _stages(episode: StoredEpisode) -> list[Stage]:
    if formulation_of(episode) != "iterative":
        raise ExcludedEpisode(f"{episode.formulation}: its actions belong to no subgoal")
    if not (stages := stages_of(episode.steps)):
        raise ExcludedEpisode("no subgoal")
    return stages


def _gold(benchmark: Benchmark, task: Task) -> Annotation | None:
    try:
        return gold_of(benchmark, task)
    except ExcludedEpisode:
        return None


def _prefix(stages: Sequence[Stage], number: int) -> Derivation:
    kept = stages[:number]
    given = {"planner": [stage.plan for stage in kept], "grounder": [stage.grounding for stage in kept]}
    return Derivation(str(number), given, number)
