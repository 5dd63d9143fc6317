"""Find out which score of an episode is its reward in training."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import unknown
from lumos_queue.records import Task


def metric_of(benchmark: Benchmark, reward: str) -> Callable[[Task], str]:
    """Return a function that returns for a task the metric that is its reward, or '' if the task is not scored.

    `reward`: a metric, or the name of an overall score, which has a metric for each kind of task. Raises SpecError for
    any other name.
    """
    if reward in benchmark.overalls:
        return benchmark.overalls[reward]
    if reward not in benchmark.metrics:
        raise unknown(f"reward of '{benchmark.name}'", reward, (*benchmark.overalls, *benchmark.metrics))
    return lambda task: reward if reward in benchmark.metrics_of(task) else ""


def read_reward(benchmark: Benchmark, reward: str, task: Task, scores: Mapping[str, float]) -> float | None:
    """Return the reward of an episode of the task with these scores; None if they do not include the reward."""
    return scores.get(metric_of(benchmark, reward)(task))
