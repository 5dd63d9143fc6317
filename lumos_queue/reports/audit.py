"""Report on an audit, and measure the agreement of its labellers.

An audit of annotations measures the precision of the acceptance check. An audit of runs measures the share that people
judge right, and the agreement of the main metric with people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from db.review.audits import AuditSlot, StoredAudit
from lumos_queue.reports.audit_values import (
    AuditedShare,
    AuditReport,
    AuditStratum,
    LabelCounts,
    MetricAgreement,
    MetricSection,
    PairAgreement,
    Precision,
    Share,
    ShareRight,
)
from lumos_queue.scoring.annotation_strata import read_stratum_keys
from lumos_queue.scoring.sampling import AuditKind, decide_verdict
from lumos_queue.scoring.statistics import Stratum, cohen_kappa, estimate_share, kappa_interval

JUDGED = ("right", "wrong")
COUNTED = (*JUDGED, "unsure", "disputed", "unlabelled")


def opinion(labels: Mapping[str, str]) -> str:
    """Return the joint label of an item, whose `labels` are by labeller.

    It is `disputed` if some labels are `right` and some `wrong`, `unsure` only if all labels are `unsure`, and
    `unlabelled` without labels.
    """
    verdicts = {label for label in labels.values() if label in JUDGED}
    if len(verdicts) > 1:
        return "disputed"
    return verdicts.pop() if verdicts else "unsure" if labels else "unlabelled"


def make_audit_report(audit: StoredAudit, samples: Sequence[AuditSlot], labeller: str = "") -> AuditReport:
    """Return the report of an audit; with `labeller`, only this person's labels count.

    `precision` (`share_right` for runs) is the share of right samples among the samples that people judge right or
    wrong; a sample has the weight of the members of the population that it represents (statistics.estimate_share).
    Each stratum has the share of its own samples, with Wilson's interval. `wrong_kinds` counts the wrong samples by the
    kind of fault that a labeller names; '' has those without a kind. `if_unsure_wrong` counts unsure and disputed
    samples as wrong. `gone` is a lower bound of the number of samples that were removed with their jobs: the gaps in
    the numbers, because the size of the sample is not stored. `removed` is about the number of members of the
    population that these samples represented. `metric`, for runs, is the agreement of the main metric with people.
    """
    label_sets = [{who: label for who, label in sample.labels.items() if labeller in ("", who)} for sample in samples]
    opinions = [opinion(labels) for labels in label_sets]
    of_runs = audit.kind == AuditKind.RUNS
    strata = list(_count_strata(samples, opinions, of_runs))
    judged_strata = [_make_stratum(stratum) for stratum in strata]
    strict_strata = [
        Stratum(stratum.population, stratum.drawn - stratum.counts.unlabelled, stratum.counts.right)
        for stratum in strata
    ]
    whole = sum(stratum.population for stratum in strata)
    removed_count = audit.population - whole
    return AuditReport(
        audit=audit.name,
        kind=audit.kind,
        twice=audit.twice,
        query=audit.query,
        seed=audit.seed,
        population=audit.population,
        drawn=len(samples),
        gone=max(1, max((sample.number for sample in samples), default=0) - len(samples)) if removed_count else 0,
        removed=removed_count,
        labeller=labeller or None,
        counts=_count_labels(Counter(opinions)),
        right=_right_share(_share(judged_strata), of_runs),
        if_unsure_wrong=_share(strict_strata),
        covered=sum(stratum.population for stratum in judged_strata if stratum.judged) / whole if whole else 0.0,
        by=[] if of_runs else list(read_stratum_keys(audit.strata)),
        strata=strata,
        wrong_kinds=_count_kinds(samples, opinions, labeller),
        labellers=sorted({who for sample in samples for who in sample.labels}),
        agreement=_agreements(samples),
        of_metric=MetricSection(_metric_agreement(samples, opinions)) if of_runs else None,
    )


def _count_strata(samples: Sequence[AuditSlot], opinions: Sequence[str], of_runs: bool) -> Iterator[AuditStratum]:
    """Yield the strata of the samples by name."""
    counts: dict[str, Counter[str]] = {}
    population: dict[str, float] = {}
    for sample, verdict in zip(samples, opinions, strict=True):
        counts.setdefault(sample.stratum, Counter())[verdict] += 1
        population[sample.stratum] = population.get(sample.stratum, 0.0) + sample.weight
    for name, verdicts in sorted(counts.items()):
        whole, labels = round(population[name]), _count_labels(verdicts)
        share = _share([Stratum(whole, labels.right + labels.wrong, labels.right)])
        yield AuditStratum(name, whole, verdicts.total(), labels, _right_share(share, of_runs))


def _count_labels(verdicts: Counter[str]) -> LabelCounts:
    return LabelCounts(**{verdict: verdicts[verdict] for verdict in COUNTED})


def _make_stratum(stratum: AuditStratum) -> Stratum:
    return Stratum(stratum.population, stratum.counts.right + stratum.counts.wrong, stratum.counts.right)


def _right_share(share: Share | None, of_runs: bool) -> AuditedShare:
    return ShareRight(share) if of_runs else Precision(share)


def _count_kinds(samples: Sequence[AuditSlot], opinions: Sequence[str], labeller: str) -> dict[str, int]:
    """Count the wrong samples by kind of fault, the most frequent first; a sample can have several kinds."""
    counts: Counter[str] = Counter()
    for sample, verdict in zip(samples, opinions, strict=True):
        if verdict == "wrong":
            counts.update({kind for who, kind in sample.kinds.items() if labeller in ("", who)} or {""})
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _metric_agreement(samples: Sequence[AuditSlot], opinions: Sequence[str]) -> MetricAgreement | None:
    """Return the agreement of the main metric with people, over the samples that metric and people judge.

    The weights are those of the precision. Return None if there is no such sample.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    population: dict[str, float] = {}
    for sample, verdict in zip(samples, opinions, strict=True):
        population[sample.stratum] = population.get(sample.stratum, 0.0) + sample.weight
        if verdict in JUDGED and (metric := decide_verdict(sample.score)):
            pairs.setdefault(sample.stratum, []).append((verdict, metric))
    strata = [
        Stratum(population[name], len(stratum_pairs), sum(label == grade for label, grade in stratum_pairs))
        for name, stratum_pairs in pairs.items()
    ]
    every = [pair for stratum_pairs in pairs.values() for pair in stratum_pairs]
    if (share := estimate_share(strata)) is None:
        return None
    kappa, interval = _kappa(every)
    return MetricAgreement(
        items=len(every),
        agreed=sum(label == grade for label, grade in every),
        share=share[0],
        ci95=share[1:],
        right_for_people_only=every.count(("right", "wrong")),
        right_for_metric_only=every.count(("wrong", "right")),
        kappa=kappa,
        kappa_ci95=interval,
    )


def _kappa(pairs: Sequence[tuple[str, str]]) -> tuple[float | None, tuple[float, float] | None]:
    """Return Cohen's kappa and its interval; None where they are not defined."""
    return cohen_kappa(pairs), kappa_interval(pairs)


def _share(strata: Sequence[Stratum]) -> Share | None:
    estimate = estimate_share(strata)
    if estimate is None:
        return None
    share, low, high = estimate
    return Share(share, (low, high), sum(stratum.judged for stratum in strata))


def _agreements(samples: Sequence[AuditSlot]) -> list[PairAgreement]:
    """Return the agreement of each pair of labellers over the samples that both labelled; `unsure` is a third label."""
    names = sorted({who for sample in samples for who in sample.labels})
    agreements = []
    for first, second in combinations(names, 2):
        pairs = [
            (sample.labels[first], sample.labels[second])
            for sample in samples
            if {first, second} <= sample.labels.keys()
        ]
        kappa, interval = _kappa(pairs)
        if kappa is not None:
            reason = None
        elif pairs:
            reason = f"both said '{pairs[0][0]}' of every item: chance alone would agree as well"
        else:
            reason = "no item was labelled by both"
        equal_count = sum(first_label == second_label for first_label, second_label in pairs)
        share = equal_count / len(pairs) if pairs else None
        agreements.append(PairAgreement((first, second), len(pairs), equal_count, share, kappa, interval, reason))
    return agreements
