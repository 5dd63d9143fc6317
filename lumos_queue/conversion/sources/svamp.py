"""SVAMP: the rationale is the row's equation (lumos_queue.benchmarks.svamp)."""

from __future__ import annotations

from lumos_queue.conversion.sources.mawps import EquationSource

source = EquationSource("svamp")
