"""Scorers that compute scores of a run again from its stored episodes, by the current version of the rules.

The scorer `other_reader` computes the main metric from the stored replies of `cot` and `direct`, by the reader that the
job does not use. The scorer `numbers` computes `accuracy` of word problems.
"""

from __future__ import annotations

from db.kinds.job_kinds import RUNS
from db.queries.trajectories import StoredEpisode
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.checks import reading_metric
from lumos_queue.benchmarks.registry import benchmark_of
from lumos_queue.benchmarks.word_problems import WordProblems
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.answer_reading import find_stored_reader, read_answer
from lumos_queue.records import Completion, Ending, Role, Task
from lumos_queue.review.scorers.base import Judgement, Scorer
from lumos_queue.scoring.answer_readers import READING_VERSION, AnswerReader, other_reader
from lumos_queue.scoring.limit import select_judged_answer
from lumos_queue.scoring.numeric import ACCURACY_VERSION


def _read_by_other(job: StoredJob) -> Scorer:
    """Return the scorer for a job. Raises SpecError if the job's formulation does not read answers from one reply."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or formulation.phrase is None or job.kind not in RUNS:
        raise SpecError(
            f"Job {job.id} has no replies for the scorer 'other_reader': it is for inferences and evaluations by cot "
            "and direct."
        )
    benchmark, phrase = benchmark_of(job), formulation.phrase
    reader = other_reader(AnswerReader(find_stored_reader(job.spec.get("infer", job.spec))))

    def judge(episode: StoredEpisode) -> Judgement:
        replies = [step.result for step in episode.steps if step.role == Role.SOLVER]
        if not replies or not isinstance(replies[-1], Completion):
            return None
        answer = read_answer(replies[-1], episode.task, benchmark.answers, reader, phrase)
        ending = Ending.NO_ANSWER if answer is None else Ending.ANSWERED
        return _main_score(benchmark, episode.task, EpisodeResult(answer, ending))

    metric = reading_metric(benchmark, reader)
    return Scorer("other_reader", judge, READING_VERSION, (metric,), is_remade=True)


def _score_numbers(job: StoredJob) -> Scorer:
    """Return the scorer for a job. Raises SpecError if the job's benchmark is not of word problems."""
    benchmark = benchmark_of(job)
    if not isinstance(benchmark, WordProblems):
        raise SpecError(
            f"Job {job.id} is of the benchmark '{benchmark.name}', and the scorer 'numbers' judges word problems."
        )

    def judge(episode: StoredEpisode) -> Judgement:
        answer = select_judged_answer(episode.ending, episode.answer, episode.at_limit)
        return _main_score(benchmark, episode.task, EpisodeResult(answer, episode.ending))

    return Scorer("numbers", judge, ACCURACY_VERSION, (benchmark.metrics[0],), is_remade=True)


def _main_score(benchmark: Benchmark, task: Task, result: EpisodeResult) -> Judgement:
    scores = benchmark.score(task, result)
    return next((score.value for score in scores if score.metric == benchmark.metrics[0]), None)


def _judge_nothing(_episode: StoredEpisode) -> Judgement:
    return None


OTHER_READER = Scorer("other_reader", _judge_nothing, READING_VERSION, for_job=_read_by_other, is_remade=True)
NUMBERS = Scorer("numbers", _judge_nothing, ACCURACY_VERSION, for_job=_score_numbers, is_remade=True)
