"""Audits: the strata of a new sample, and the report of what people found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.reports.audit_values import (
    AuditReport,
    AuditStratum,
    DrawnSample,
    MetricAgreement,
    PairAgreement,
    Share,
)
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.util.wording import format_interval, format_kappa, format_share


def draw(sample: DrawnSample) -> Iterator[Block]:
    """Yield the blocks about a new sample of annotations or runs."""
    rows = [
        [
            stratum.stratum,
            f"{stratum.population:,}",
            f"{stratum.drawn:,}",
            f"{stratum.weight:.2f}",
        ]
        for stratum in sample.strata
    ]
    yield Table("", ["stratum", "population", "drawn", "each stands for"], rows)
    members = "runs" if sample.kind == AuditKind.RUNS else "accepted annotations"
    twice = f", {sample.labelled_twice:,} of them to be labelled twice" if sample.labelled_twice else ""
    yield Text(
        f"drawn {sample.drawn:,} of {sample.population:,} {members}{twice}. Begin with: lumos audit next {sample.audit}"
    )


def audit(report: AuditReport) -> Iterator[Block]:
    """Yield the blocks of a report of `reports.audit.make_audit_report`: the result first, strata after it."""
    of_runs = report.kind == AuditKind.RUNS
    population = f"{report.population:,}" + ("" if of_runs else " that were accepted")
    yield Text(f"audit {report.audit}: {report.drawn:,} {report.kind}, drawn from {population}")
    if text := _describe_removals(report):
        yield Text(text, warns=True)
    if not report.drawn:
        return
    subject = "runs that are right" if of_runs else "accepted annotations that are right"
    yield from _share(report, report.right.share, subject, ("unsure", "disputed"))
    yield from _share(report, report.if_unsure_wrong, "the same, if unsure and disputed count as wrong", ())
    name = "share right" if of_runs else "precision"
    if report.right.share is None:
        yield Text(f"nothing is labelled yet. Begin with: lumos audit next {report.audit}", warns=True)
    elif report.covered < 1:
        share = format_share(report.covered)
        yield Text(f"the strata with labels hold {share} of the population: the {name} is for these only", warns=True)
    yield _strata(report.strata, name)
    if kinds := report.wrong_kinds:
        text = ", ".join(f"{kind or 'not named'} {count:,}" for kind, count in kinds.items())
        yield Text(f"wrong {report.kind} by kind of fault: {text}")
    if report.of_metric and (metric := report.of_metric.metric):
        yield Text(
            f"the metric agrees with people on {metric.agreed:,} of {metric.items:,} runs: "
            f"{format_share(metric.share)} {format_interval(*metric.ci95)} of all; "
            f"{metric.right_for_people_only:,} are right for people only, {metric.right_for_metric_only:,} for "
            f"the metric only; {_format_kappa(metric)}"
        )
    for pair in report.agreement:
        share = "" if pair.share is None else f" ({format_share(pair.share)})"
        reason = f": {pair.undefined}" if pair.undefined else ""
        yield Text(
            f"{' and '.join(pair.labellers)} agree on {pair.agreed:,} of {pair.items:,} items{share}; "
            f"{_format_kappa(pair)}{reason}"
        )


def _strata(strata: Sequence[AuditStratum], name: str) -> Table:
    """Return a table of the numbers of each stratum, and of its share of right items."""
    rows = []
    for stratum in strata:
        share, counts = stratum.right.share, stratum.counts
        cells = [format_share(share.share), format_interval(*share.ci95)] if share else ["", ""]
        numbers = (
            stratum.population,
            stratum.drawn,
            counts.right,
            counts.wrong,
            counts.unsure,
            counts.disputed,
            counts.unlabelled,
        )
        rows.append([stratum.stratum, *(f"{number:,}" for number in numbers), *cells])
    heads = ["stratum", "population", "drawn", "right", "wrong", "unsure", "disputed", "left", name, "95 % interval"]
    return Table("", heads, rows, ranks=(0, 4, 3, 1, 2, 6, 7, 5, 0, 0))


def _describe_removals(report: AuditReport) -> str:
    """Return a sentence about the items of the audit that were removed together with their jobs."""
    if not report.gone:
        return ""
    if not report.drawn:
        return "all of its items were removed together with their jobs"
    return (
        f"at least {report.gone:,} more of its items were removed together with their jobs; they represented about "
        f"{report.removed:,} {report.kind}, which this report does not cover"
    )


def _share(report: AuditReport, share: Share | None, subject: str, excluded_labels: tuple[str, ...]) -> Iterator[Text]:
    """Yield a sentence about a share with its interval, and the number of items that it was computed from."""
    if share is None:
        return
    counts = {"unsure": report.counts.unsure, "disputed": report.counts.disputed}
    exclusions = [f"{counts[label]:,} {label}" for label in excluded_labels if counts[label]]
    exclusions += [f"{report.counts.unlabelled:,} not labelled"] if report.counts.unlabelled else []
    members = report.kind if share.judged != 1 else report.kind.removesuffix("s")
    yield Text(
        f"{subject}: {format_share(share.share)} {format_interval(*share.ci95)}, of {share.judged:,} {members}"
        + (f"; left out: {', '.join(exclusions)}" if exclusions else "")
    )


def _format_kappa(agreement: MetricAgreement | PairAgreement) -> str:
    if agreement.kappa is None or agreement.kappa_ci95 is None:
        return "kappa is not defined"
    return f"kappa {format_kappa(agreement.kappa, agreement.kappa_ci95)}"
