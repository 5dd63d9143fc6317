"""The values of a comparison of jobs: the figures of each job, and of each pair of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.score_values import Mean, Metric
from lumos_queue.reports.step_pairs import EpisodePair
from lumos_queue.reports.totals import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigures:
    """What the pairs of two jobs show. Job B is compared with job A, and a difference is B minus A."""

    pairs: int  #: tasks that both jobs have judged; of several samples of a task, each counts
    binary: bool  #: whether all scores are 0 or 1
    fixed: int  #: pairs in which B is better
    broken: int  #: pairs in which B is worse
    both: int | None = field(default=None, metadata=OPTIONAL)  #: pairs that both have right; None unless `binary`
    neither: int | None = field(default=None, metadata=OPTIONAL)  #: pairs that both have wrong; None unless `binary`
    tasks: int  #: independent tasks: samples of a task, and tasks from the same row, count as one
    better: int  #: tasks in which the mean of B is higher
    worse: int  #: tasks in which the mean of B is lower
    clustered: bool  #: whether pairs depend on each other
    value_a: Mean
    value_b: Mean
    difference: float
    equal: int  #: tasks in which the means are equal
    p: float
    test: str  #: the test of `p`
    interval: str  #: the method of `ci95`
    standard_error: float | None = field(default=None, metadata=OPTIONAL)
    tasks_for_power: int | None  #: tasks that would show this difference in 80 of 100 cases; None without a difference
    ci95: tuple[float, float]  #: of the difference


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """The difference of two jobs in a group of tasks."""

    kind: str
    value: str | None = field(default=None, metadata=OPTIONAL)  #: the tasks' value of the field
    values: int | None = field(default=None, metadata=OPTIONAL)  #: values of the group of all other values
    n: int  #: items of the group
    pairs: int | None = field(default=None, metadata=OPTIONAL)  #: 0 without judged pairs, else None
    figures: PairFigures | None = field(metadata=MERGED)  #: None without judged pairs
    p_holm: float | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class ChangedPair:
    """A task on which one of two jobs is better."""

    a: str  #: the name of the episode in job A
    b: str  #: the name of the episode in job B
    sample: int
    value_a: float
    value_b: float
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairComparison:
    """The comparison of job B with job A, the baseline."""

    figures: PairFigures = field(metadata=MERGED)
    a: str  #: the id of job A
    b: str  #: the id of job B
    unlike: str  #: how the tasks of the jobs differ; '' if they do not
    items: Mapping[str, int]  #: by job
    #: by field of the tasks
    by: Mapping[str, Sequence[GroupComparison]] | None = field(default=None, metadata=OPTIONAL)
    #: items that both jobs have, judged or not; None if the rows of the jobs differ
    of: int | None = field(default=None, metadata=OPTIONAL)
    #: the range that the difference can have when all of `of` are judged
    bounds: tuple[float, float] | None = field(default=None, metadata=OPTIONAL)
    fixed_pairs: Sequence[ChangedPair]
    broken_pairs: Sequence[ChangedPair]
    p_holm: float  #: the p-value after Holm's correction for all pairs of the comparison
    #: episodes of some of these pairs
    side_by_side: Sequence[EpisodePair] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedJob:
    """The score and the costs of a job of a comparison, as in its report."""

    job: str
    name: str
    state: str
    formulation: str
    differs: Mapping[str, str]  #: the facts in which it differs from the other jobs, by name
    items: int
    done: int
    judged: int
    infra_error: int  #: episodes that ended so
    score: Metric
    right: int | None  #: None if scores are not 0 or 1
    tokens: Tokens
    busy_seconds: float
    calls: int
    seconds: float | None = field(default=None, metadata=OPTIONAL)
    usd: float | None = field(default=None, metadata=OPTIONAL)
    per_right: Mapping[str, float]  #: calls, tokens, seconds, usd for each right answer
    versions: Mapping[str, int]
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsComparison:
    """Jobs that are compared task by task with the first of them."""

    benchmark: str
    split: str
    metric: str
    common: bool
    baseline: str  #: the id of the first job
    jobs: Sequence[ComparedJob]
    comparisons: Sequence[PairComparison]
    notes: Sequence[str]  #: warnings about the figures
