"""The report of an audit, and how far its labellers agree.

Of annotations it measures the precision of the acceptance check; of runs the share that people find right, and how far
the main metric agrees with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

from lumos_queue.scoring.sampling import AuditKind, judged_by
from lumos_queue.scoring.statistics import Stratum, cohen_kappa, kappa_interval, stratified_share

JUDGED = ("right", "wrong")
COUNTED = (*JUDGED, "unsure", "disputed", "unlabelled")


class AuditSummary(Protocol):
    """One place of the sample (db.audits.Sampled)."""

    @property
    def place(self) -> int: ...

    @property
    def stratum(self) -> str: ...

    @property
    def weight(self) -> float: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def score(self) -> float | None: ...


def opinion(labels: Mapping[str, str]) -> str:
    """The joint label of an item: `unsure` counts for nothing; `disputed` if both right and wrong were given."""
    said = {label for label in labels.values() if label in JUDGED}
    if len(said) > 1:
        return "disputed"
    return said.pop() if said else "unsure" if labels else "unlabelled"


def make_audit_report(audit: Any, samples: Sequence[AuditSummary], labeller: str = "") -> dict[str, Any]:
    """The report as plain values; with `labeller`, only by this person's labels.

    `precision`, of runs `share_right`, is the share of right among the places judged right or wrong, weighted by the
    members of the population that each represents (statistics.stratified_share). `if_unsure_wrong` counts unsure and
    disputed places as wrong. `gone` is a lower bound of the places removed with their jobs: those missing before the
    last one left, as the number drawn is not stored. `removed` is about how many members of the population they
    represented. `metric` is, of runs, how far the main metric agrees with people.
    """
    given = [{who: label for who, label in one.labels.items() if labeller in ("", who)} for one in samples]
    opinions = [opinion(labels) for labels in given]
    strata: dict[str, Counter[str]] = {}
    population: dict[str, float] = {}
    for one, said in zip(samples, opinions, strict=True):
        strata.setdefault(one.stratum, Counter())[said] += 1
        population[one.stratum] = population.get(one.stratum, 0.0) + one.weight
    rows = [
        {"stratum": name, "population": round(population[name]), "drawn": counts.total()}
        | {said: counts[said] for said in COUNTED}
        for name, counts in sorted(strata.items())
    ]
    judged = [Stratum(row["population"], row["right"] + row["wrong"], row["right"]) for row in rows]
    strict = [Stratum(row["population"], row["drawn"] - row["unlabelled"], row["right"]) for row in rows]
    whole = sum(row["population"] for row in rows)
    removed = audit.population - whole
    of_runs = audit.kind == AuditKind.RUNS
    return {
        "audit": audit.name,
        "kind": audit.kind,
        "twice": audit.twice,
        "query": audit.query,
        "seed": audit.seed,
        "population": audit.population,
        "drawn": len(samples),
        "gone": max(1, max((one.place for one in samples), default=0) - len(samples)) if removed else 0,
        "removed": removed,
        "labeller": labeller or None,
        **{said: opinions.count(said) for said in COUNTED},
        "share_right" if of_runs else "precision": _share(judged),
        "if_unsure_wrong": _share(strict),
        "covered": sum(one.population for one in judged if one.judged) / whole if whole else 0.0,
        "strata": rows,
        "labellers": sorted({who for one in samples for who in one.labels}),
        "agreement": _agreements(samples),
        **({"metric": _metric_agreement(samples, opinions)} if of_runs else {}),
    }


def _metric_agreement(samples: Sequence[AuditSummary], opinions: Sequence[str]) -> dict[str, Any] | None:
    """How far the main metric agrees with people, over the places that both judge; the share weighted as precision is.

    None where there is no such place.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    population: dict[str, float] = {}
    for one, said in zip(samples, opinions, strict=True):
        population[one.stratum] = population.get(one.stratum, 0.0) + one.weight
        if said in JUDGED and (metric := judged_by(one.score)):
            pairs.setdefault(one.stratum, []).append((said, metric))
    strata = [
        Stratum(population[name], len(found), sum(one == other for one, other in found))
        for name, found in pairs.items()
    ]
    every = [pair for found in pairs.values() for pair in found]
    if (share := stratified_share(strata)) is None:
        return None
    return {
        "items": len(every),
        "agreed": sum(one == other for one, other in every),
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
    found = stratified_share(strata)
    if found is None:
        return None
    share, low, high = found
    return {"share": share, "ci95": [low, high], "judged": sum(one.judged for one in strata)}


def _agreements(samples: Sequence[AuditSummary]) -> list[dict[str, Any]]:
    """For each pair of labellers, over the places that both labelled; `unsure` counts as a third label."""
    names = sorted({who for one in samples for who in one.labels})
    found = []
    for first, second in combinations(names, 2):
        pairs = [(one.labels[first], one.labels[second]) for one in samples if {first, second} <= one.labels.keys()]
        measured = _kappa(pairs)
        if measured["kappa"] is not None:
            why = ""
        elif pairs:
            why = f"both said '{pairs[0][0]}' of every item: chance alone would agree as well"
        else:
            why = "no item was labelled by both"
        agreed = sum(one == other for one, other in pairs)
        found.append(
            {
                "labellers": [first, second],
                "items": len(pairs),
                "agreed": agreed,
                "share": agreed / len(pairs) if pairs else None,
                **measured,
                "undefined": why or None,
            }
        )
    return found
