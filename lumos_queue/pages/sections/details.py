"""The section of figures that only some jobs have: samples of a task, tool calls, runs of experts, human ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.pages.blocks import Block, Table
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.records import Role
from lumos_queue.reports.judge import list_judge_figures
from lumos_queue.util.wording import MISSING, format_interval, format_share, format_whole_metric, plain


def details(material: Material) -> Iterator[Block]:
    for job in material.jobs:
        if figures := job.report.get("samples"):
            yield tabulate_samples(job, figures)
        if calls := job.report.get("tool_calls"):
            rows = [[plain(group["status"]), plain(group["provenance"]), f"{group['calls']:,}"] for group in calls]
            heads = ["status", "answer from", "calls"]
            yield Table(f"Calls of tools: {job.label}", heads, rows, texts=frozenset({0, 1}))
        if figures := job.report.get("by_provenance"):
            yield _by_provenance(job, figures)
        rows = [row for list_figures in _FURTHER for row in list_figures(job.report)]
        if rows:
            yield Table(f"Further figures: {job.label}", ["figure", "value"], rows)


def tabulate_samples(job: JobMaterial, samples: Mapping[str, Any]) -> Table:
    """Return the table of flip rates, pass@k and maj@k."""
    measurements: list[tuple[str, Mapping[str, Any], str]] = [("flip rate", samples["flips"], "rate")]
    measurements += [(f"pass@{share['k']}", share, "value") for share in samples.get("pass_at", ())]
    measurements += [(f"maj@{share['k']}", share, "value") for share in samples.get("majority_at", ())]
    has_few = any(figure["too_few"] for _, figure, _ in measurements)
    rows = [
        [
            name,
            *([MISSING] * 2 if figure[key] is None else [format_share(figure[key]), format_interval(*figure["ci95"])]),
            f"{figure['of']:,}",
            *([f"{figure['too_few']:,}"] if has_few else []),
        ]
        for name, figure, key in measurements
    ]
    note = (
        "The flip rate is the share of tasks whose samples are not all alike; pass@k is unbiased (Chen et al. 2021); "
    )
    note += "maj@k is the score of the most frequent answer of k samples, a tie counted in parts."
    title = f"Samples of a task, by {plain(samples['metric'])}: {job.label}"
    heads = ["figure", "value", "95 % interval", "tasks", *(["too few samples judged"] if has_few else [])]
    return Table(title, heads, rows, note, ranks=(0, 0, 0, 1, 2)[: len(heads)])


def _by_provenance(job: JobMaterial, groups: Mapping[str, Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for group in groups.values() for name in group if name != "n"))
    rows = [
        [plain(name), f"{group['n']:,}", *(format_whole_metric(group.get(metric)) for metric in names)]
        for name, group in groups.items()
    ]
    title = f"Scores by the least real answer of an episode: {job.label}"
    return Table(title, ["answers", "items", *map(plain, names)], rows)


def list_expert_figures(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield (name, text) of the figures of a job that runs experts."""
    if figures := report.get("expert_runs"):
        for name, count in figures["runs"].items():
            yield [f"runs of experts: {plain(name)}", f"{count:,}"]
        for name, count in figures["failed"].items():
            yield [f"runs of experts that failed: {plain(name)}", f"{count:,}"]
        without = sum(figures["samples"]["without_value"].values())
        yield ["samples without a value", f"{without:,} of {figures['samples']['n']:,}"]
    if figures := report.get("plan_feasibility"):
        counts = f"{figures['types']:,} by types, {figures['released']:,} as released, of {figures['n']:,}"
        yield [f"feasible plans (run: {plain(figures['rule'])})", counts]
    for name, expert in report.get("experts", {}).items():
        fidelity = expert["fidelity"] or "as its server states"
        yield [f"expert: {plain(name)}", f"{expert['backend']} ({fidelity}), {expert['runs']:,} runs"]
    if figures := report.get("plan_steps"):
        yield ["plan steps that name no expert", f"{figures['unresolved']:,} of {figures['n']:,}"]


def _people(report: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, count in report.get("plans", {}).items():
        yield [f"plans that people were shown: {name}", f"{count:,}"]
    if ratings := report.get("ratings"):
        low, high = ratings["ci95"]
        coverage = f"{ratings['rated']:,} of {ratings['of']:,} rated"
        yield ["mean rating, 1 to 10 [95 %]", f"{ratings['mean']:.1f} [{low:.1f}, {high:.1f}], {coverage}"]


def _judge(report: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, text in list_judge_figures(report):
        yield [name, text]


def _roles(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the figures of Sum2Act's router and state manager."""
    for name, count in report.get(Role.ROUTER, {}).items():
        yield [f"router: {plain(name)}", f"{count:,}"]
    for name, figure in report.get(Role.STATE_MANAGER, {}).items():
        yield [f"state manager: {plain(name)}", f"{figure:,}" if isinstance(figure, int) else _format_verdicts(figure)]


def _format_verdicts(figure: Mapping[str, Any]) -> str:
    """Return how many of some verdicts there are, with share and interval."""
    if not figure["of"]:
        return "no such call"
    return f"{figure['count']:,} of {figure['of']:,}: {format_whole_metric(figure)}"


_FURTHER = (list_expert_figures, _people, _judge, _roles)
