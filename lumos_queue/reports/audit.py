"""Report on an audit, and measure the agreement of its labellers.

An audit of annotations measures the precision of the acceptance check. An audit of runs measures the share that people
judge right, and the agreement of the main metric with people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

from lumos_queue.scoring.annotation_strata import read_stratum_keys
from lumos_queue.scoring.sampling import AuditKind, decide_verdict
from lumos_queue.scoring.statistics import Stratum, cohen_kappa, estimate_share, kappa_interval

JUDGED = ("right", "wrong")
COUNTED = (*JUDGED, "unsure", "disputed", "unlabelled")


class AuditSummary(Protocol):
    """An episode in the sample of an audit, with its labels; `db.review.audits.AuditSlot` has these properties."""

    @property
    def number(self) -> int: ...

    @property
    def stratum(self) -> str: ...

    @property
    def weight(self) -> float: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def score(self) -> float | None: ...

    @property
    def kinds(self) -> Mapping[str, str]: ...


def opinion(labels: Mapping[str, str]) -> str:
    """Return the joint label of an item, whose `labels` are by labeller.

    It is `disputed` if some labels are `right` and some `wrong`, `unsure` only if all labels are `unsure`, and
    `unlabelled` without labels.
    """
    verdicts = {label for label in labels.values() if label in JUDGED}
    if len(verdicts) > 1:
        return "disputed"
    return verdicts.pop() if verdicts else "unsure" if labels else "unlabelled"


def make_audit_report(audit: Any, samples: Sequence[AuditSummary], labeller: str = "") -> dict[str, Any]:
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
    strata: dict[str, Counter[str]] = {}
    population: dict[str, float] = {}
    for sample, verdict in zip(samples, opinions, strict=True):
        strata.setdefault(sample.stratum, Counter())[verdict] += 1
        population[sample.stratum] = population.get(sample.stratum, 0.0) + sample.weight
    rows: list[dict[str, Any]] = [
        {"stratum": name, "population": round(population[name]), "drawn": counts.total()}
        | {verdict: counts[verdict] for verdict in COUNTED}
        for name, counts in sorted(strata.items())
    ]
    judged_strata = [Stratum(row["population"], row["right"] + row["wrong"], row["right"]) for row in rows]
    of_runs = audit.kind == AuditKind.RUNS
    share_name = "share_right" if of_runs else "precision"
    for row, stratum in zip(rows, judged_strata, strict=True):
        row[share_name] = _share([stratum])
    strict_strata = [Stratum(row["population"], row["drawn"] - row["unlabelled"], row["right"]) for row in rows]
    whole = sum(row["population"] for row in rows)
    removed_count = audit.population - whole
    return {
        "audit": audit.name,
        "kind": audit.kind,
        "twice": audit.twice,
        "query": audit.query,
        "seed": audit.seed,
        "population": audit.population,
        "drawn": len(samples),
        "gone": max(1, max((sample.number for sample in samples), default=0) - len(samples)) if removed_count else 0,
        "removed": removed_count,
        "labeller": labeller or None,
        **{verdict: opinions.count(verdict) for verdict in COUNTED},
        share_name: _share(judged_strata),
        "if_unsure_wrong": _share(strict_strata),
        "covered": sum(stratum.population for stratum in judged_strata if stratum.judged) / whole if whole else 0.0,
        "by": [] if of_runs else list(read_stratum_keys(audit.strata)),
        "strata": rows,
        "wrong_kinds": _count_kinds(samples, opinions, labeller),
        "labellers": sorted({who for sample in samples for who in sample.labels}),
        "agreement": _agreements(samples),
        **({"metric": _metric_agreement(samples, opinions)} if of_runs else {}),
    }


def _count_kinds(samples: Sequence[AuditSummary], opinions: Sequence[str], labeller: str) -> dict[str, int]:
    """Count the wrong samples by kind of fault, the most frequent first; a sample can have several kinds."""
    counts: Counter[str] = Counter()
    for sample, verdict in zip(samples, opinions, strict=True):
        if verdict == "wrong":
            counts.update({kind for who, kind in sample.kinds.items() if labeller in ("", who)} or {""})
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _metric_agreement(samples: Sequence[AuditSummary], opinions: Sequence[str]) -> dict[str, Any] | None:
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
    return {
        "items": len(every),
        "agreed": sum(label == grade for label, grade in every),
        "share": share[0],
        "ci95": list(share[1:]),
        "right_for_people_only": every.count(("right", "wrong")),
        "right_for_metric_only": every.count(("wrong", "right")),
        **_kappa(every),
    }


def _kappa(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    interval = kappa_interval(pairs)
    return {"kappa": cohen_kappa(pairs), "kappa_ci95": list(interval) if interval else None}


def _share(strata: Sequence[Stratum]) -> dict[str, Any] | None:
    estimate = estimate_share(strata)
    if estimate is None:
        return None
    share, low, high = estimate
    return {"share": share, "ci95": [low, high], "judged": sum(stratum.judged for stratum in strata)}


def _agreements(samples: Sequence[AuditSummary]) -> list[dict[str, Any]]:
    """Return the agreement of each pair of labellers over the samples that both labelled; `unsure` is a third label."""
    names = sorted({who for sample in samples for who in sample.labels})
    agreements = []
    for first, second in combinations(names, 2):
        pairs = [
            (sample.labels[first], sample.labels[second])
            for sample in samples
            if {first, second} <= sample.labels.keys()
        ]
        kappa = _kappa(pairs)
        if kappa["kappa"] is not None:
            why = ""
        elif pairs:
            why = f"both said '{pairs[0][0]}' of every item: chance alone would agree as well"
        else:
            why = "no item was labelled by both"
        equal_count = sum(first_label == second_label for first_label, second_label in pairs)
        agreements.append(
            {
                "labellers": [first, second],
                "items": len(pairs),
                "agreed": equal_count,
                "share": equal_count / len(pairs) if pairs else None,
                **kappa,
                "undefined": why or None,
            }
        )
    return agreements
