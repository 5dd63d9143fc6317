"""The rows of the tables of an overview: the label, and the function that formats a job's cell.

Nothing is counted here: a row shows figures of the job's report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState, JobState
from lumos_queue.pages.material import JobMaterial
from lumos_queue.records import Ending
from lumos_queue.reports.comparison_values import JobsComparison, PairComparison
from lumos_queue.reports.completeness import UNGRADED
from lumos_queue.reports.tool_rules import BY_RULE, PASS, TIED, WIN, WON, label_metric
from lumos_queue.util.wording import (
    format_count,
    format_difference,
    format_price,
    format_seconds,
    format_whole_metric,
    plain,
)

MAX_METRICS = 5  #: metrics of a job

Row = tuple[str, Callable[[JobMaterial], str]]


def list_score_rows(jobs: Sequence[JobMaterial], compared: JobsComparison | None) -> Iterator[Row]:
    """Yield the rows of the scores, of what they are compared with, and of the items that they are about."""
    yield from _metric_rows(jobs, compared)
    yield from _rule_rows(jobs)
    yield from _STATE_ROWS


def _metric_rows(jobs: Sequence[JobMaterial], compared: JobsComparison | None) -> Iterator[Row]:
    """Yield the rows of the metrics, the main metric first, and of what the main metric is compared with."""
    names = dict.fromkeys(name for job in jobs for name in (job.metric, *job.report.get("metrics", {})) if name)
    has_rules = all("rules" in job.report for job in jobs)
    for name in [name for name in names if not (has_rules and name in BY_RULE)][:MAX_METRICS]:
        yield (
            f"{label_metric(jobs[0].report, name)} [95 %]",
            lambda job, name=name: format_whole_metric(_metric(job, name)),
        )
        if name == jobs[0].metric:
            if compared:
                pairs = {pair.b: _format_pair(pair) for pair in compared.comparisons}
                yield f"difference to {compared.baseline}, points", lambda job, pairs=pairs: pairs.get(job.id, "")
            yield "best rule without a model", _format_best_rule


def _metric(job: JobMaterial, name: str) -> Mapping[str, Any] | None:
    """Return a metric of the job's report; the main figure of a report without metrics."""
    report = job.report
    if name in report.get("metrics", {}):
        return report["metrics"][name]
    return report if name == job.metric and "value" in report else None


def _format_best_rule(job: JobMaterial) -> str:
    rules = job.report.get("baselines", {})
    if not rules:
        return ""
    name = max(rules, key=lambda rule: rules[rule]["value"])
    return f"{format_whole_metric(rules[name])}\nrule: {plain(name)}"


def _format_pair(pair: PairComparison) -> str:
    return format_difference(pair.figures.difference, pair.figures.ci95)


def _rule_rows(jobs: Sequence[JobMaterial]) -> Iterator[Row]:
    """Yield the rows of a judge's rates by each rule of ToolEval."""
    for name in dict.fromkeys(name for job in jobs for name in job.report.get("rules", {})):
        for figure in (PASS, WIN, WON, TIED):
            yield (
                f"{plain(figure)}, rule={name}",
                lambda job, name=name, figure=figure: format_whole_metric(
                    job.report.get("rules", {}).get(name, {}).get(figure)
                ),
            )


def count_results(job: JobMaterial) -> int:
    """Return how many items have a result: those that ended with infra_error, or that have no grade, have none."""
    ungraded = job.report.get("lacking", {}).get(UNGRADED, 0)
    return job.report["finished"] - job.report["endings"].get(Ending.INFRA_ERROR, 0) - ungraded


def _format_state(job: JobMaterial) -> str:
    return job.state if job.report["state"] != JobState.DONE else ""


def _count_items(state: ItemState) -> Callable[[JobMaterial], str]:
    return lambda job: f"{job.report['items'][state]:,}" if job.report["items"].get(state) else ""


def _count_right(job: JobMaterial) -> str:
    return format_count(job.report["correct"], job.report["n"]) if "correct" in job.report else ""


def _count_wrong(job: JobMaterial) -> str:
    return format_count(count_results(job) - job.report["correct"], job.report["n"]) if "correct" in job.report else ""


def _format_tokens(job: JobMaterial) -> str:
    tokens = job.report["tokens"]
    return f"{tokens['prompt']:,} / {tokens['completion']:,}" if job.report["calls"] else ""


def _format_cost(job: JobMaterial) -> str:
    if (cost := job.report.get("cost")) is None:
        return ""
    return format_price(cost["usd"]) + (f" of {format_price(cost['budget'])}" if cost["budget"] else "")


def _format_plans(job: JobMaterial) -> str:
    """Return how many plans were shown to people, by the people's answers."""
    return ", ".join(f"{count:,} {name}" for name, count in job.report.get("plans", {}).items() if count)


def _format_rating(job: JobMaterial) -> str:
    if not (ratings := job.report.get("ratings")):
        return ""
    low, high = ratings["ci95"]
    return f"{ratings['mean']:.1f} [{low:.1f}, {high:.1f}]\n{ratings['rated']:,} of {ratings['of']:,} rated"


def _format_adoption(job: JobMaterial) -> str:
    adoption = job.report.get("adopted")
    return f"{adoption['episodes']:,} of {adoption['of']:,}\nfrom {adoption['from']}" if adoption else ""


def _format_code(job: JobMaterial) -> str:
    versions = job.report["code_versions"]
    if len(versions) < 2:
        return versions[0]["code_version"] if versions else job.row.code_version
    return "\n".join(f"{version['code_version']}: {version['episodes']:,}" for version in versions)


_STATE_ROWS: Sequence[Row] = (
    ("state", _format_state),
    ("items with a result", lambda job: f"{count_results(job):,} of {job.report['n']:,}"),
    ("right", lambda job: _count_right(job) if job.row.kind != JobKind.CONVERT else ""),
    ("wrong", lambda job: _count_wrong(job) if job.row.kind != JobKind.CONVERT else ""),
    ("accepted for both", lambda job: _count_right(job) if job.row.kind == JobKind.CONVERT else ""),
    ("rating, 1 to 10", _format_rating),
    ("plans", _format_plans),
    ("quarantined", _count_items(ItemState.QUARANTINED)),
    ("waiting for approval", _count_items(ItemState.AWAITING)),
    ("adopted", _format_adoption),
)
COST_ROWS: Sequence[Row] = (
    ("time", lambda job: "" if job.report["seconds"] is None else format_seconds(job.report["seconds"])),
    ("model calls", lambda job: f"{job.report['calls']:,}" if job.report["calls"] else ""),
    ("tokens in / out", _format_tokens),
    ("price", _format_cost),
)
PROVENANCE_ROWS: Sequence[Row] = (
    ("model", lambda job: job.called.model),
    ("rows", lambda job: job.report.get("row_origin", {}).get("text", "")),
    ("code", _format_code),
)
