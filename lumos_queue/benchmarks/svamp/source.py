"""SVAMP: the rationale is the row's equation (lumos_queue.benchmarks.svamp.benchmark)."""

from __future__ import annotations

from lumos_queue.benchmarks.mawps.source import EquationSource

source = EquationSource("svamp")
