"""Which of an episode's scores is its reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import unknown
from lumos_queue.records import Task


def metric_of(benchmark: Benchmark, reward: str) -> Callable[[Task], str]:
    """From a task to the metric that is its reward; '' where nothing judges it.

    `reward` is a metric, or the name of an overall score, which takes another metric for each kind of task. Raises
    SpecError for any other.
    """
    if reward in benchmark.overalls:
        return benchmark.overalls[reward]
    if reward not in benchmark.metrics:
        raise unknown(f"reward of '{benchmark.name}'", reward, (*benchmark.overalls, *benchmark.metrics))
    return lambda task: reward if reward in benchmark.metrics_of(task) else ""


def read_reward(benchmark: Benchmark, reward: str, task: Task, scores: Mapping[str, float]) -> float | None:
    """The reward of an episode with these scores; None where it has not been scored so."""
    return scores.get(metric_of(benchmark, reward)(task))
