"""Compute the interval of a mean score from six sums, however many scores there are, for lists of many jobs."""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.scoring.statistics import Z_95, cluster_interval


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over independent scores v with weights w."""

    n: int = 0  #: scores
    w: float = 0.0  #: Σw
    wv: float = 0.0  #: Σwv
    ww: float = 0.0  #: Σw²
    wwv: float = 0.0  #: Σw²v
    wwvv: float = 0.0  #: Σw²v²

    def add(self, value: float, weight: float, count: int) -> Moments:
        """Return the sums with `count` further scores of the same value and weight."""
        square = weight * weight * count
        return Moments(
            self.n + count,
            self.w + weight * count,
            self.wv + weight * value * count,
            self.ww + square,
            self.wwv + square * value,
            self.wwvv + square * value * value,
        )

    def interval(self, z: float = Z_95) -> tuple[float, float, float] | None:
        """Return `compute_counted_interval` of the same scores, all from 0 to 1; None without any weight.

        Σ (w(v - m))² is computed as Σw²v² - 2mΣw²v + m²Σw². Its rounding error, of about 1e-16 of Σw², is harmless,
        because the interval adds clusters to the observed clusters.
        """
        if not self.w:
            return None
        share = min(1.0, max(0.0, self.wv / self.w))
        deviations = max(0.0, self.wwvv - 2 * share * self.wwv + share * share * self.ww)
        return cluster_interval(share, self.w, self.ww, deviations, self.n, z)
