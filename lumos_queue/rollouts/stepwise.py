"""Judge which of an episode's subgoals were right: by the gold values, and by rollouts from each prefix.

A *prefix* is an episode's first t subgoals with their actions and results; its *value* is the result of its last
action. A prefix is judged by the first of these rules that applies:

- by gold: it is right if its value matches a result of the gold annotation. Values and results are matched in order,
  each is used once, and as many as possible match. So neither a result that is reached a second time counts, nor a
  result that comes before the last match in the gold annotation;
- by rollouts, if there are any: it is right if at least the given share of the tries that continue it is right, because
  a step that is not in the gold solution may still lead to the answer;
- without rollouts it is wrong if there is a gold annotation, and not judged if there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of_episode
from lumos_queue.builds.stages import Stage, same_value, stages_of
from lumos_queue.execution.prefill import source_row
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Annotation, Role, Task
from lumos_queue.rollouts.derivation import Derivation, ExcludedEpisode, formulation_of, gold_of, require_ended

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

GOLD, ROLLOUTS = "gold", "rollouts"


@dataclass(frozen=True, slots=True)
class RolloutCounts:
    """The numbers of rollouts from a prefix that were requested, that ended, and that are right."""

    asked: int
    ended: int
    right: int


@dataclass(frozen=True, slots=True)
class StepLabel:
    """The judgement of a prefix. `right` is None if it is not judged, or if some of its rollouts have not ended."""

    right: bool | None
    by: str  #: 'gold', 'rollouts', or '' if it is not judged
    tries: RolloutCounts | None


def prefixes(position: str, only_unsettled: bool) -> Callable[[StoredEpisode], Mapping[str, Sequence[Derivation]]]:
    """Return a function that derives the rollouts of an episode.

    `position` is 'each' for all prefixes, or 'last' for the prefix with all subgoals. With `only_unsettled`, prefixes
    that are right by gold are excluded. The returned function raises ExcludedEpisode for an unsuitable episode.
    """

    def make(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
        require_ended(episode)
        stages = _stages(episode)
        hits = gold_hits(stages, _gold(open_benchmark_of_episode(episode), episode.task)) if only_unsettled else ()
        numbers = range(1, len(stages) + 1) if position == "each" else [len(stages)]
        selection = [number for number in numbers if not (hits and hits[number - 1])]
        if not selection:
            raise ExcludedEpisode("all its values are gold values")
        return {"": [_prefix(stages, number) for number in selection]}

    return make


def gold_hits(stages: Sequence[Stage], gold: Annotation | None) -> list[bool]:
    """Return for each prefix whether its value is a gold result, by the first longest common subsequence of both."""
    results = [result for step in gold.steps for result in step.results if result] if gold else []
    values = [stage.value for stage in stages]
    same = [[value is not None and same_value(value, result) for result in results] for value in values]
    longest = [[0] * (len(results) + 1) for _ in range(len(values) + 1)]  # for the remaining values and results
    for v in reversed(range(len(values))):
        for g in reversed(range(len(results))):
            longest[v][g] = max(longest[v + 1][g], longest[v][g + 1], same[v][g] + longest[v + 1][g + 1])
    hits, g = [], 0
    for v in range(len(values)):
        # The first matching result that leaves the most matches for the next values.
        candidates = (n for n in range(g, len(results)) if same[v][n] and 1 + longest[v + 1][n + 1] == longest[v][g])
        match = next(candidates, None)
        hits.append(match is not None)
        g = g if match is None else match + 1
    return hits


def judge(
    stages: Sequence[Stage], gold: Annotation | None, rollouts: Mapping[int, RolloutCounts], threshold: float
) -> list[StepLabel]:
    """Return a label for each prefix. The keys of `rollouts` are the numbers of subgoals of the prefixes."""
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
    """Return a row of stepwise supervision: `prompt`, `completions` (one for each subgoal), `labels` and lineage.

    A label is None if it is not known; a row with such a label is not for training.
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
    if not FORMULATIONS.load(formulation_of(episode)).is_stepwise:
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
    prefix = stages[:number]
    replies: dict[str, list[str]] = {
        Role.PLANNER: [stage.plan for stage in prefix],
        Role.GROUNDER: [stage.grounding for stage in prefix],
    }
    return Derivation(str(number), replies, number)
