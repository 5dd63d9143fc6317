"""The values of scores: means with intervals, metrics, the scores of a job, and the scores of groups of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.json_values import HIDDEN, MERGED, OPTIONAL

Range = tuple[float, float]  #: the lower and the upper end


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean score with its 95 % interval, as shares."""

    value: float
    ci95: Range


@dataclass(frozen=True, slots=True)
class SetScores:
    """A metric over sample sets: the mean of each set, and the standard deviation of these means."""

    means: Sequence[float]
    spread: float | None  #: None for one set


@dataclass(frozen=True, slots=True)
class Metric:
    """The mean of a metric with its 95 % interval, as shares, over items of which those without a score are wrong."""

    value: float
    ci95: Range
    of: int  #: trials
    #: the values with all unjudged items wrong and right; None if all items are judged
    bounds: Range | None = field(default=None, metadata=OPTIONAL)
    sets: SetScores | None = field(default=None, metadata=OPTIONAL)  #: None without sample sets


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScores:
    """The main metric of a job, and all metrics."""

    metric: str  #: the name of the main metric
    value: float
    ci95: Range
    complete: bool  #: whether all items are judged
    correct: int | None = field(default=None, metadata=OPTIONAL)  #: right items; None unless all scores are 0 or 1
    bounds: Range | None = field(default=None, metadata=OPTIONAL)  #: as those of a Metric
    metrics: Mapping[str, Metric]
    judged: int = field(metadata=HIDDEN)  #: items with a score by the main metric

    @property
    def wrong(self) -> int | None:
        """Judged items that are not right; None unless all scores are 0 or 1, or if no item is judged."""
        return None if self.correct is None or not self.judged else self.judged - self.correct


@dataclass(frozen=True, slots=True)
class OverallMean:
    """A mean over tasks that are judged by different metrics."""

    n: int  #: metrics, or items
    value: float
    ci95: Range
    bounds: Range | None = field(default=None, metadata=OPTIONAL)  #: for all scores of items that are not judged


@dataclass(frozen=True, slots=True)
class OverallScore:
    """The means over all metrics and over all items, and the items of each metric."""

    over_metrics: OverallMean
    over_tasks: OverallMean
    items: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MissingOverall:
    """An overall score that cannot be computed, because some metrics have no judged item."""

    not_run: Sequence[str]  #: the names of these metrics


Overall = OverallScore | MissingOverall


@dataclass(frozen=True, slots=True)
class GroupScores:
    """The scores of a group of tasks."""

    n: int  #: items
    metrics: Mapping[str, Metric]  #: those that apply
    overall: Mapping[str, Overall] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class FieldGroupScores:
    """The scores of the tasks with the same value of a field."""

    kind: str  #: a GroupKind
    value: str | None = field(metadata=OPTIONAL)  #: None unless the kind is VALUE
    values: int | None = field(metadata=OPTIONAL)  #: the number of values of the group of all other values
    scores: GroupScores = field(metadata=MERGED)
