"""The settings of the papers' evaluations, and those in which a stored job departs from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.model import Column
from lumos_queue.scoring.limit import WRONG

SAMPLES = 1
TEMPERATURE, TOP_P, MAX_TOKENS = 0.0, 1.0, 512  #: greedy
FRAMING = "train"


def wanted(column: Column, formulation: str) -> dict[str, Any]:
    """Name of a setting to its value in the evaluation that gives a column's figures."""
    from lumos_queue.submission.agents import answer_by

    benchmark, tried = open_benchmark(column.benchmark), FORMULATIONS.load(formulation)
    settings = {
        "samples": SAMPLES, "temperature": TEMPERATURE, "top_p": TOP_P, "max_tokens": MAX_TOKENS, "framing": FRAMING,
        "shots": len(DOMAINS.load(benchmark.domain).demonstrations) if tried.demonstrated else 0,
        "answer_by": answer_by(benchmark),
    }  # fmt: skip
    if tried.limited:
        settings |= {"max_subgoals": column.max_subgoals, "at_limit": DOMAINS.load(benchmark.domain).at_limit}
    if formulation == "one-pass" and settings["answer_by"] != "last":
        settings["formulation_version"] = VERSION  # the first asked the QA tool once more than the original
    return settings


def departures(column: Column, formulation: str, infer: Mapping[str, Any]) -> list[str]:
    """In what a job's settings (its `spec["infer"]`) are others than the papers', in words."""
    agent = infer["agent"]
    found = {"at_limit": WRONG, "formulation_version": 1, **agent.get("sampling", {}), **agent, **infer}
    return [
        f"{name} is {_shown(found[name])}, not {_shown(value)}"
        for name, value in wanted(column, formulation).items()
        if name in found and found[name] != value
    ]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
