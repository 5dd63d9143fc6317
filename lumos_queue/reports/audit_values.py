"""The values of a report on an audit: counts of labels, shares with intervals, and agreements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.json_values import MERGED


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The numbers of samples by their joint label (reports.audit.opinion)."""

    right: int
    wrong: int
    unsure: int
    disputed: int
    unlabelled: int


@dataclass(frozen=True, slots=True)
class Share:
    """The share of a population that is right, from the samples that people judged."""

    share: float
    ci95: tuple[float, float]
    judged: int  #: samples


@dataclass(frozen=True, slots=True)
class AuditedShare(ABC):
    """The share of right samples among those that are judged right or wrong; None if none is.

    The name of the share in JSON depends on the kind of the audit.
    """

    @property
    @abstractmethod
    def share(self) -> Share | None:
        """Return the share with its interval."""


@dataclass(frozen=True, slots=True)
class Precision(AuditedShare):
    """The share of an audit of annotations."""

    precision: Share | None

    @property
    def share(self) -> Share | None:
        return self.precision


@dataclass(frozen=True, slots=True)
class ShareRight(AuditedShare):
    """The share of an audit of runs."""

    share_right: Share | None

    @property
    def share(self) -> Share | None:
        return self.share_right


@dataclass(frozen=True, slots=True)
class AuditStratum:
    """The samples of a stratum."""

    stratum: str
    population: int  #: members that the samples represent
    drawn: int
    counts: LabelCounts = field(metadata=MERGED)
    right: AuditedShare = field(metadata=MERGED)


@dataclass(frozen=True, slots=True)
class MetricAgreement:
    """The agreement of the main metric with people, over the runs that both judge."""

    items: int
    agreed: int
    share: float  #: of the population
    ci95: tuple[float, float]
    right_for_people_only: int
    right_for_metric_only: int
    kappa: float | None
    kappa_ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class MetricSection:
    """What only an audit of runs has."""

    metric: MetricAgreement | None  #: None if people and metric judge no sample in common


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """The agreement of two labellers, over the samples that both labelled."""

    labellers: tuple[str, str]
    items: int
    agreed: int
    share: float | None  #: None without items
    kappa: float | None
    kappa_ci95: tuple[float, float] | None
    undefined: str | None  #: the reason why there is no kappa


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The report of `reports.audit.make_audit_report`, which explains the figures."""

    audit: str  #: its name
    kind: str  #: an AuditKind
    twice: float  #: the share of the sample that two people label
    query: str
    seed: int
    population: int
    drawn: int
    gone: int  #: samples that were removed with their jobs, at least
    removed: int  #: members of the population that these samples represented, about
    labeller: str | None
    counts: LabelCounts = field(metadata=MERGED)
    right: AuditedShare = field(metadata=MERGED)
    if_unsure_wrong: Share | None
    covered: float  #: share of the population in strata with judged samples
    by: Sequence[str]  #: the properties that name the strata of annotations, beside the benchmark
    strata: Sequence[AuditStratum]
    wrong_kinds: Mapping[str, int]
    labellers: Sequence[str]
    agreement: Sequence[PairAgreement]
    of_metric: MetricSection | None = field(metadata=MERGED)  #: None for an audit of annotations


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """A stratum of a new sample."""

    stratum: str
    population: int
    drawn: int
    weight: float  #: members that each sample represents


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """A new sample of annotations or runs."""

    audit: str  #: its name
    kind: str  #: an AuditKind
    population: int
    drawn: int
    labelled_twice: int
    seed: int
    by: Sequence[str]  #: as in an AuditReport
    strata: Sequence[DrawnStratum]
