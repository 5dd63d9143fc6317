"""Figures that only some jobs have: several samples of a task, calls of tools, runs of experts, what people said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.pages.blocks import Block, Table
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.wording import plain, tell_interval, tell_share, tell_whole_metric
from lumos_queue.reports.judge import list_judge_figures


def details(material: Material) -> Iterator[Block]:
    for job in material.jobs:
        if found := job.report.get("samples"):
            yield _samples(job, found)
        if calls := job.report.get("tool_calls"):
            rows = [[plain(one["status"]), plain(one["provenance"]), f"{one['calls']:,}"] for one in calls]
            heads = ["status", "answer from", "calls"]
            yield Table(f"Calls of tools: {job.label}", heads, rows, texts=frozenset({0, 1}))
        if found := job.report.get("by_provenance"):
            yield _by_provenance(job, found)
        if rows := [*_experts(job.report), *_people(job.report), *_judge(job.report), *_roles(job.report)]:
            yield Table(f"Further figures: {job.label}", ["figure", "value"], rows)


def _samples(job: JobMaterial, found: Mapping[str, Any]) -> Table:
    """How often the samples of a task disagree, and what the best of k would be."""
    measured = [("flip rate", found["flips"], "rate")]
    measured += [(f"pass@{share['k']}", share, "value") for share in found.get("pass_at", ())]
    measured += [(f"maj@{share['k']}", share, "value") for share in found.get("majority_at", ())]
    rows = [
        [name, tell_share(one[key]) if one[key] is not None else "", tell_interval(*one["ci95"]), f"{one['of']:,}"]
        for name, one, key in measured
    ]
    note = (
        "The flip rate is the share of tasks whose samples are not all alike; pass@k is unbiased (Chen et al. 2021); "
    )
    note += "maj@k is the score of the most frequent answer of k samples, a tie counted in parts."
    title = f"Samples of a task, by {plain(found['metric'])}: {job.label}"
    return Table(title, ["figure", "value", "95 % interval", "tasks"], rows, note)


def _by_provenance(job: JobMaterial, found: Mapping[str, Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for one in found.values() for name in one if name != "n"))
    rows = [
        [plain(name), f"{one['n']:,}", *(tell_whole_metric(one.get(metric)) for metric in names)]
        for name, one in found.items()
    ]
    title = f"Scores by the least real answer of an episode: {job.label}"
    return Table(title, ["answers", "items", *map(plain, names)], rows)


def _experts(report: Mapping[str, Any]) -> Iterator[list[str]]:
    if found := report.get("expert_runs"):
        for name, count in found["runs"].items():
            yield [f"runs of experts: {plain(name)}", f"{count:,}"]
        for name, count in found["failed"].items():
            yield [f"runs of experts that failed: {plain(name)}", f"{count:,}"]
        without = sum(found["samples"]["without_value"].values())
        yield ["samples without a value", f"{without:,} of {found['samples']['n']:,}"]
    if found := report.get("plan_steps"):
        yield ["plan steps that name no expert", f"{found['unresolved']:,} of {found['n']:,}"]


def _people(report: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, count in report.get("plans", {}).items():
        yield [f"plans that people were shown: {name}", f"{count:,}"]
    if found := report.get("ratings"):
        low, high = found["ci95"]
        rated = f"{found['rated']:,} of {found['of']:,} rated"
        yield ["mean rating, 1 to 10 [95 %]", f"{found['mean']:.1f} [{low:.1f}, {high:.1f}], {rated}"]


def _judge(report: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, text in list_judge_figures(report):
        yield [name, text]


def _roles(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """What Sum2Act's router and state manager did."""
    for name, count in report.get("router", {}).items():
        yield [f"router: {plain(name)}", f"{count:,}"]
    for name, found in report.get("state_manager", {}).items():
        told = f"{found:,}" if isinstance(found, int) else f"{found['count']:,} of {found['of']:,}"
        yield [f"state manager: {plain(name)}", told]
