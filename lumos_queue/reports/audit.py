"""The report of an audit: the precision of the acceptance check, and how far its labellers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

from lumos_queue.scoring.statistics import Stratum, cohen_kappa, stratified_share

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


def opinion(labels: Mapping[str, str]) -> str:
    """The joint label of an item: `unsure` counts for nothing; `disputed` if both right and wrong were given."""
    said = {label for label in labels.values() if label in JUDGED}
    if len(said) > 1:
        return "disputed"
    return said.pop() if said else "unsure" if labels else "unlabelled"


def make_audit_report(audit: Any, samples: Sequence[AuditSummary], labeller: str = "") -> dict[str, Any]:
    """The report as plain values; with `labeller`, only by this person's labels.

    Precision is the share of right among the places judged right or wrong, weighted by the annotations that each
    represents (statistics.stratified_share). `if_unsure_wrong` counts unsure and disputed places as wrong. `gone` is a
    lower bound of the places removed with their jobs: those missing before the last one left, as the number drawn is
    not stored. `removed` is about how many annotations of the population they represented.
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
    return {
        "audit": audit.name,
        "query": audit.query,
        "seed": audit.seed,
        "population": audit.population,
        "drawn": len(samples),
        "gone": max(1, max((one.place for one in samples), default=0) - len(samples)) if removed else 0,
        "removed": removed,
        "labeller": labeller or None,
        **{said: opinions.count(said) for said in COUNTED},
        "precision": _share(judged),
        "if_unsure_wrong": _share(strict),
        "covered": sum(one.population for one in judged if one.judged) / whole if whole else 0.0,
        "strata": rows,
        "labellers": sorted({who for one in samples for who in one.labels}),
        "agreement": _agreements(samples),
    }


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
        kappa = cohen_kappa(pairs)
        if kappa is not None:
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
                "kappa": kappa,
                "undefined": why or None,
            }
        )
    return found
