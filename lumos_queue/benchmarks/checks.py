"""Benchmarks of plug-ins: what they have to say of themselves, and what they may give when they judge an episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.errors import LumosError, PluginFault, SpecError
from lumos_queue.records import Ending, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import READING_VERSION
from lumos_queue.util.failures import tell_failure

_WANTED = {
    "name": "its own name, as in name = 'capitals'",
    "domain": "whose actions solve its tasks, as in domain = 'maths' (any, where none are needed)",
    "licence": "that of its data, as in licence = 'MIT'",
}


def check_benchmark(name: str, benchmark: Benchmark) -> None:
    """Raises SpecError, saying what to write, where an attribute that every benchmark needs is missing or no text."""
    for attribute, wanted in _WANTED.items():
        if not isinstance(getattr(benchmark, attribute, None), str):
            raise SpecError(f"The benchmark '{name}' has no text as its {attribute}: {wanted}.")
    for attribute in ("metrics", "splits"):
        value = getattr(benchmark, attribute)
        if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
            raise SpecError(f"The {attribute} of the benchmark '{name}' are {value!r:.80}: expected a tuple of names.")
    if benchmark.answers not in tuple(AnswerKind):
        kinds = ", ".join(AnswerKind)
        raise SpecError(f"The answers of the benchmark '{name}' are {benchmark.answers!r:.80}: expected {kinds}.")
    if hasattr(benchmark, "yes_no"):
        raise SpecError(
            f"The benchmark '{name}' has the attribute yes_no, which no longer counts: write answers = 'yes_no' in its "
            "place, or leave it out."
        )
    if benchmark.metrics and type(benchmark).score is Benchmark.score:
        raise SpecError(f"The benchmark '{name}' has metrics, and no method `score` that gives them: write one.")


def is_built_in(benchmark: Benchmark) -> bool:
    """Whether it is one of this project, whose faults are this project's."""
    return type(benchmark).__module__.startswith("lumos_queue.")


def score_episode(benchmark: Benchmark, task: Task, result: EpisodeResult) -> Sequence[Score]:
    """The scores that a benchmark gives an episode: none where infrastructure ended it, which is no wrong answer.

    Raises PluginFault where one of others fails, or gives something else than scores of its metrics: reports would not
    find them.
    """
    if result.ending == Ending.INFRA_ERROR:
        return ()
    scores = _score(benchmark, task, result)
    if not (result.readings and benchmark.scores_readings):
        return scores
    return (*scores, *_score_readings(benchmark, task, result, scores))


def reading_metric(benchmark: Benchmark, reader: str) -> str:
    """Return the name of the metric that judges the answer another reader sees, as the main metric does."""
    return f"{benchmark.metrics[0]}_{reader}"


def _score_readings(
    benchmark: Benchmark, task: Task, result: EpisodeResult, scores: Sequence[Score]
) -> Iterator[Score]:
    """The main metric of what other readers see in the reply, unless the benchmark has a metric of that name."""
    main = benchmark.metrics[0]
    for reader, answer in result.readings:
        if (metric := reading_metric(benchmark, reader)) in benchmark.metrics:
            continue
        judged = scores
        if answer != result.answer:
            ending = Ending.NO_ANSWER if answer is None else Ending.ANSWERED
            judged = _score(benchmark, task, replace(result, answer=answer, ending=ending, vote=None, votes=()))
        yield from (
            Score(metric, one.value, READING_VERSION, one.detail, one.of) for one in judged if one.metric == main
        )


def _score(benchmark: Benchmark, task: Task, result: EpisodeResult) -> Sequence[Score]:
    if is_built_in(benchmark):
        return benchmark.score(task, result)
    try:
        found = tuple(benchmark.score(task, result))
    except LumosError:  # it says what it means: InfrastructureError has the episode tried again
        raise
    except Exception as error:
        raise PluginFault(f"the benchmark '{benchmark.name}' fails to score: {tell_failure(error)}") from error
    for one in found:
        if not isinstance(one, Score) or one.metric not in benchmark.metrics:
            given = f"a score of '{one.metric}'" if isinstance(one, Score) else f"{one!r:.80} as a score"
            expected = f"lq.Score with a metric of {', '.join(benchmark.metrics)}"
            raise PluginFault(f"the benchmark '{benchmark.name}' gives {given}: expected {expected}")
    return found
