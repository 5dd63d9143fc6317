"""The section of figures that only some jobs have: samples of a task, tool calls, runs of experts, human ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from lumos_queue.pages.blocks import Block, Table
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.judge import list_judge_figures
from lumos_queue.reports.provenance import ClassScores
from lumos_queue.reports.samples import SampleFigures
from lumos_queue.util.wording import MISSING, format_interval, format_share, format_whole_metric, plain

if TYPE_CHECKING:
    from lumos_queue.reports.state_manager import VerdictShare


def details(material: Material) -> Iterator[Block]:
    for job in material.jobs:
        if calls := job.report.tool_calls:
            rows = [[plain(group.status), plain(group.provenance), f"{group.calls:,}"] for group in calls]
            heads = ["status", "answer from", "calls"]
            yield Table(f"Calls of tools: {job.label}", heads, rows, texts=frozenset({0, 1}))
        if figures := job.report.by_provenance:
            yield _by_provenance(job, figures)
        rows = [row for list_figures in _FURTHER for row in list_figures(job.report)]
        if rows:
            yield Table(f"Further figures: {job.label}", ["figure", "value"], rows)


def tabulate_samples(job: JobMaterial, samples: SampleFigures) -> Table:
    """Return the table of flip rates, pass@k and maj@k."""
    shares = [("flip rate", samples.flips.rate, samples.flips)]
    shares += [(f"pass@{share.k}", share.value, share) for share in samples.pass_at or ()]
    shares += [(f"maj@{share.k}", share.value, share) for share in samples.majority_at or ()]
    has_few = any(figure.too_few for _, _, figure in shares)
    rows = [
        [
            name,
            *([MISSING] * 2 if value is None else [format_share(value), format_interval(*figure.ci95)]),
            f"{figure.of:,}",
            *([f"{figure.too_few:,}"] if has_few else []),
        ]
        for name, value, figure in shares
    ]
    note = (
        "The flip rate is the share of tasks whose samples are not all alike; pass@k is unbiased (Chen et al. 2021); "
    )
    note += "maj@k is the score of the most frequent answer of k samples, a tie counted in parts."
    title = f"Samples of a task, by {plain(samples.metric)}: {job.label}"
    heads = ["figure", "value", "95 % interval", "tasks", *(["too few samples judged"] if has_few else [])]
    return Table(title, heads, rows, note, ranks=(0, 0, 0, 1, 2)[: len(heads)])


def _by_provenance(job: JobMaterial, groups: Mapping[str, ClassScores]) -> Table:
    names = list(dict.fromkeys(name for group in groups.values() for name in group.metrics))
    rows = [
        [plain(name), f"{group.n:,}", *(format_whole_metric(group.metrics.get(metric)) for metric in names)]
        for name, group in groups.items()
    ]
    title = f"Scores by the least real answer of an episode: {job.label}"
    return Table(title, ["answers", "items", *map(plain, names)], rows)


def list_expert_figures(report: JobReport) -> Iterator[list[str]]:
    """Yield (name, text) of the figures of a job that runs experts."""
    if figures := report.expert_runs:
        for name, count in figures.runs.items():
            yield [f"runs of experts: {plain(name)}", f"{count:,}"]
        for name, count in figures.failed.items():
            yield [f"runs of experts that failed: {plain(name)}", f"{count:,}"]
        without = sum(figures.samples.without_value.values())
        yield ["samples without a value", f"{without:,} of {figures.samples.n:,}"]
    if plans := report.plan_feasibility:
        counts = f"{plans.types:,} by types, {plans.released:,} as released, of {plans.n:,}"
        yield [f"feasible plans (run: {plain(plans.rule)})", counts]
    for name, expert in (report.experts or {}).items():
        fidelity = expert.fidelity or "as its server states"
        yield [f"expert: {plain(name)}", f"{expert.backend} ({fidelity}), {expert.runs:,} runs"]
    if steps := report.plan_steps:
        yield ["plan steps that name no expert", f"{steps.unresolved:,} of {steps.n:,}"]


def _people(report: JobReport) -> Iterator[list[str]]:
    if plans := report.plans:
        for name, count in asdict(plans).items():
            yield [f"plans that people were shown: {name}", f"{count:,}"]
    if ratings := report.ratings:
        low, high = ratings.ci95
        coverage = f"{ratings.rated:,} of {ratings.of:,} rated"
        yield ["mean rating, 1 to 10 [95 %]", f"{ratings.mean:.1f} [{low:.1f}, {high:.1f}], {coverage}"]


def _judge(report: JobReport) -> Iterator[list[str]]:
    if report.judge:
        yield from ([name, text] for name, text in list_judge_figures(report.judge, report.n))


def _roles(report: JobReport) -> Iterator[list[str]]:
    """Yield the figures of Sum2Act's router and state manager."""
    if router := report.router:
        for name, count in asdict(router).items():
            yield [f"router: {plain(name)}", f"{count:,}"]
    if verdicts := report.state_manager:
        yield ["state manager: verdicts", f"{verdicts.verdicts:,}"]
        yield ["state manager: unreadable", f"{verdicts.unreadable:,}"]
        yield ["state manager: disagreement", _format_verdicts(verdicts.disagreement)]
        yield ["state manager: success of failed calls", _format_verdicts(verdicts.success_of_failed_calls)]
        yield ["state manager: failure of ok calls", _format_verdicts(verdicts.failure_of_ok_calls)]


def _format_verdicts(share: VerdictShare) -> str:
    """Return how many of some verdicts there are, with share and interval."""
    if share.value is None or share.ci95 is None:
        return "no such call"
    return f"{share.count:,} of {share.of:,}: {format_share(share.value)} {format_interval(*share.ci95)}"


_FURTHER = (list_expert_figures, _people, _judge, _roles)
