"""Keep only annotations of strata in which people have measured a sufficient precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.scoring.statistics import Stratum, estimate_share

MIN_LABELS = 30  #: labels right or wrong that a stratum needs


@dataclass(frozen=True, slots=True)
class AuditedStrata:
    """The strata of an audit, with the precision that its labels give them, and the episodes of a build in them."""

    audit: Mapping[str, Any]  #: name, query, seed, by, labellers
    min_precision: float
    strata: Mapping[str, tuple[int, int]]  #: (labels right or wrong, labels right) of each stratum
    stratum_by_episode: Mapping[int, str]  #: of the build's episodes that are in the audit's population

    def exclusion(self, episode: int) -> str:
        """Return the reason why the build leaves out the episode with this id; '' if it keeps it."""
        stratum = self.stratum_by_episode.get(episode)
        name = self.audit["name"]
        if stratum is None:
            return f"not in the population of the audit {name}"
        return self._problem(stratum)

    def as_json(self) -> dict[str, Any]:
        """Return the part of a manifest about the audit. The precision is that of the retained strata, weighted."""
        counts = Counter(self.stratum_by_episode.values())
        rows, retained = [], []
        for name, count in sorted(counts.items()):
            stratum = Stratum(count, *self.strata.get(name, (0, 0)))
            is_retained = not self._problem(name)
            retained += [stratum] if is_retained else []
            figures = {"judged": stratum.judged, "right": stratum.right, **_share([stratum])}
            rows.append({"stratum": name, "episodes": count, **figures, "retained": is_retained})
        limits = {"min_precision": self.min_precision, "min_labels": MIN_LABELS}
        return {**self.audit, **limits, **_share(retained), "strata": rows}

    def _problem(self, stratum: str) -> str:
        judged, right = self.strata.get(stratum, (0, 0))
        if judged < MIN_LABELS:
            return f"in a stratum with fewer than {MIN_LABELS} labels in the audit {self.audit['name']}"
        if right / judged < self.min_precision:
            return f"in a stratum with a precision below {self.min_precision:g} in the audit {self.audit['name']}"
        return ""


def _share(strata: list[Stratum]) -> dict[str, Any]:
    estimate = estimate_share(strata)
    return {"precision": estimate[0], "ci95": list(estimate[1:])} if estimate else {"precision": None, "ci95": None}
