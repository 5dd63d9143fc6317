"""Describe a new sample of an audit by its strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lumos_queue.reports.audit_values import DrawnSample, DrawnStratum
from lumos_queue.scoring.sampling import AuditKind, SampledEpisode


def summarize_sample(
    name: str, kind: AuditKind, samples: Sequence[SampledEpisode], seed: int, keys: Sequence[str]
) -> DrawnSample:
    """Return the strata of a sample. `keys` are the properties that name them, beside the benchmark."""
    counts = Counter(sample.stratum for sample in samples)
    weights = {sample.stratum: sample.weight for sample in samples}
    strata = [
        DrawnStratum(stratum, round(weights[stratum] * count), count, weights[stratum])
        for stratum, count in sorted(counts.items())
    ]
    return DrawnSample(
        audit=name,
        kind=kind,
        population=sum(stratum.population for stratum in strata),
        drawn=len(samples),
        labelled_twice=sum(sample.labels_wanted > 1 for sample in samples),
        seed=seed,
        by=list(keys),
        strata=strata,
    )
