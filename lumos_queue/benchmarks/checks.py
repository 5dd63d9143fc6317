"""Checks of benchmarks from plug-ins: their attributes, and the scores that they return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.errors import LumosError, PluginFault, SpecError
from lumos_queue.records import Ending, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import READING_VERSION
from lumos_queue.util.failures import format_failure

_TEXT_ATTRIBUTES = {
    "name": "its name, as in name = 'capitals'",
    "domain": "the domain whose actions solve its tasks, as in domain = 'maths' (any, if no actions are needed)",
    "licence": "the licence of its data, as in licence = 'MIT'",
}


def check_benchmark(name: str, benchmark: Benchmark) -> None:
    """Check the attributes that every benchmark needs. Raises SpecError, naming the attribute and its expected form."""
    for attribute, description in _TEXT_ATTRIBUTES.items():
        if not isinstance(getattr(benchmark, attribute, None), str):
            raise SpecError(f"The {attribute} of the benchmark '{name}' is missing or no text: set {description}.")
    for attribute in ("metrics", "splits"):
        value = getattr(benchmark, attribute)
        if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
            raise SpecError(f"The {attribute} of the benchmark '{name}' are {value!r:.80}: expected a tuple of names.")
    if benchmark.answers not in tuple(AnswerKind):
        kinds = ", ".join(AnswerKind)
        raise SpecError(
            f"The attribute `answers` of the benchmark '{name}' is {benchmark.answers!r:.80}: expected one of {kinds}."
        )
    if hasattr(benchmark, "yes_no"):
        raise SpecError(
            f"The benchmark '{name}' has the attribute yes_no, which has no effect: write answers = 'yes_no' "
            "instead, or remove it."
        )
    if benchmark.metrics and type(benchmark).score is Benchmark.score:
        raise SpecError(f"The benchmark '{name}' has metrics but no method `score`: write this method.")


def is_built_in(benchmark: Benchmark) -> bool:
    """Whether a benchmark is part of this project, so that its faults are not reported as faults of a plug-in."""
    return type(benchmark).__module__.startswith("lumos_queue.")


def score_episode(benchmark: Benchmark, task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return the scores of an episode; none if an infrastructure error ended it, which is not a wrong answer.

    Raises PluginFault if a plug-in's benchmark fails, or if it returns something other than scores of its own metrics,
    because reports would not find it.
    """
    if result.ending == Ending.INFRA_ERROR:
        return ()
    scores = _score(benchmark, task, result)
    if not (result.readings and benchmark.scores_readings):
        return scores
    return (*scores, *_score_readings(benchmark, task, result, scores))


def reading_metric(benchmark: Benchmark, reader: str) -> str:
    """Return the name of the metric that applies the main metric's rule to the answer of another reader."""
    return f"{benchmark.metrics[0]}_{reader}"


def _score_readings(
    benchmark: Benchmark, task: Task, result: EpisodeResult, scores: Sequence[Score]
) -> Iterator[Score]:
    """Yield the main metric's scores of other readers' answers, but no score that is named as a benchmark's metric."""
    main = benchmark.metrics[0]
    for reader, answer in result.readings:
        if (metric := reading_metric(benchmark, reader)) in benchmark.metrics:
            continue
        reading_scores = scores
        if answer != result.answer:
            ending = Ending.NO_ANSWER if answer is None else Ending.ANSWERED
            reading_scores = _score(benchmark, task, replace(result, answer=answer, ending=ending, vote=None, votes=()))
        yield from (
            Score(metric, score.value, READING_VERSION, score.detail, score.of)
            for score in reading_scores
            if score.metric == main
        )


def _score(benchmark: Benchmark, task: Task, result: EpisodeResult) -> Sequence[Score]:
    if is_built_in(benchmark):
        return benchmark.score(task, result)
    try:
        scores = tuple(benchmark.score(task, result))
    except LumosError:  # its class has a meaning: after an InfrastructureError the episode is retried
        raise
    except Exception as error:
        raise PluginFault(f"the benchmark '{benchmark.name}' fails to score: {format_failure(error)}") from error
    for score in scores:
        if not isinstance(score, Score) or score.metric not in benchmark.metrics:
            description = f"a score of '{score.metric}'" if isinstance(score, Score) else f"{score!r:.80} as a score"
            expectation = f"lq.Score with a metric of {', '.join(benchmark.metrics)}"
            raise PluginFault(f"the benchmark '{benchmark.name}' gives {description}: expected {expectation}")
    return scores
