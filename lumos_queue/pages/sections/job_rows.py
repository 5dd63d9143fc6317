"""The rows of the tables of an overview: the label, and the function that formats a job's cell.

Nothing is counted here: a row shows figures of the job's report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState, JobState
from lumos_queue.pages.material import JobMaterial
from lumos_queue.pages.sections.scores import find_main_metric
from lumos_queue.reports.baselines import find_best_rule
from lumos_queue.reports.comparison_values import JobsComparison, PairComparison
from lumos_queue.reports.score_values import Metric
from lumos_queue.reports.tool_rules import BY_RULE, PASS, TIED, WIN, WON, label_metric
from lumos_queue.util.wording import (
    format_count,
    format_difference,
    format_measurement,
    format_price,
    format_seconds,
    format_whole_metric,
    plain,
)

MAX_METRICS = 5  #: metrics of a job

Row = tuple[str, Callable[[JobMaterial], str]]


def list_score_rows(jobs: Sequence[JobMaterial], compared: JobsComparison | None) -> Iterator[Row]:
    """Yield the rows of the scores, of what they are compared with, and of the items that they are about."""
    yield from _list_metric_rows(jobs, compared)
    yield from _list_rule_rows(jobs)
    yield from _STATE_ROWS


def _list_metric_rows(jobs: Sequence[JobMaterial], compared: JobsComparison | None) -> Iterator[Row]:
    """Yield the rows of the metrics, the main metric first, and of what the main metric is compared with."""
    names = dict.fromkeys(name for job in jobs for name in (job.metric, *job.report.metrics) if name)
    has_rules = all(job.report.rules for job in jobs)
    for name in [name for name in names if not (has_rules and name in BY_RULE)][:MAX_METRICS]:
        yield (
            f"{label_metric(name, bool(jobs[0].report.rules))} [95 %]",
            lambda job, name=name: format_whole_metric(_find_metric(job, name)),
        )
        if compared and name == compared.metric:
            pairs = {pair.b: _format_pair(pair) for pair in compared.comparisons}
            yield f"difference to {compared.baseline}, points", lambda job, pairs=pairs: pairs.get(job.id, "")
        if name == jobs[0].metric:
            yield "best rule without a model", _format_best_rule


def _find_metric(job: JobMaterial, name: str) -> Metric | None:
    return find_main_metric(job) if name == job.metric else job.report.metrics.get(name)


def _format_best_rule(job: JobMaterial) -> str:
    if not (rules := job.report.baselines):
        return ""
    name = find_best_rule(rules)
    return f"{format_measurement(rules[name].value, rules[name].ci95)}\nrule: {plain(name)}"


def _format_pair(pair: PairComparison) -> str:
    return format_difference(pair.figures.difference, pair.figures.ci95)


def _list_rule_rows(jobs: Sequence[JobMaterial]) -> Iterator[Row]:
    """Yield the rows of a judge's rates by each rule of ToolEval."""
    for name in dict.fromkeys(name for job in jobs for name in job.report.rules or ()):
        for figure in (PASS, WIN, WON, TIED):
            yield (
                f"{plain(figure)}, rule={name}",
                lambda job, name=name, figure=figure: format_whole_metric(_find_rate(job, name, figure)),
            )


def _find_rate(job: JobMaterial, rule: str, figure: str) -> Metric | None:
    rates = (job.report.rules or {}).get(rule)
    return rates.figures.get(figure) if rates else None


def _format_state(job: JobMaterial) -> str:
    return job.state if job.report.state != JobState.DONE else ""


def _count_items(state: ItemState) -> Callable[[JobMaterial], str]:
    return lambda job: f"{count:,}" if (count := job.report.items.get(state)) else ""


def _count_right(job: JobMaterial) -> str:
    scores = job.report.scores
    return "" if scores is None or scores.wrong is None else format_count(scores.correct or 0, job.report.n)


def _count_wrong(job: JobMaterial) -> str:
    scores = job.report.scores
    return "" if scores is None or scores.wrong is None else format_count(scores.wrong, job.report.n)


def _count_missing(job: JobMaterial) -> str:
    missing = job.report.missing
    return format_count(missing, job.report.n) if missing and job.report.scores else ""


def _format_tokens(job: JobMaterial) -> str:
    use = job.report.episodes.use if job.report.episodes else None
    return f"{use.tokens.prompt:,} / {use.tokens.completion:,}" if use and use.calls else ""


def _count_calls(job: JobMaterial) -> str:
    calls = job.report.episodes.use.calls if job.report.episodes else 0
    return f"{calls:,}" if calls else ""


def _format_cost(job: JobMaterial) -> str:
    if (cost := job.report.price) is None:
        return ""
    return format_price(cost.usd) + (f" of {format_price(cost.budget)}" if cost.budget else "")


def _format_plans(job: JobMaterial) -> str:
    """Return how many plans were shown to people, by the people's answers."""
    counts = asdict(job.report.plans) if job.report.plans else {}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _format_rating(job: JobMaterial) -> str:
    if not (ratings := job.report.ratings):
        return ""
    low, high = ratings.ci95
    return f"{ratings.mean:.1f} [{low:.1f}, {high:.1f}]\n{ratings.rated:,} of {ratings.of:,} rated"


def _format_adoption(job: JobMaterial) -> str:
    adoption = job.report.adopted
    return f"{adoption.episodes:,} of {adoption.of:,}\nfrom {adoption.parent}" if adoption else ""


def _format_code(job: JobMaterial) -> str:
    versions = job.report.episodes.code_versions if job.report.episodes else ()
    if len(versions) < 2:
        return versions[0].code_version if versions else job.row.code_version
    return "\n".join(f"{version.code_version}: {version.episodes:,}" for version in versions)


_STATE_ROWS: Sequence[Row] = (
    ("state", _format_state),
    ("items with a result", lambda job: f"{job.report.results:,} of {job.report.n:,}"),
    ("right", lambda job: _count_right(job) if job.row.kind != JobKind.CONVERT else ""),
    ("wrong", lambda job: _count_wrong(job) if job.row.kind != JobKind.CONVERT else ""),
    ("no result yet", _count_missing),
    ("accepted for both modules", lambda job: _count_right(job) if job.row.kind == JobKind.CONVERT else ""),
    ("rating, 1 to 10", _format_rating),
    ("plans", _format_plans),
    ("quarantined", _count_items(ItemState.QUARANTINED)),
    ("waiting for approval", _count_items(ItemState.AWAITING)),
    ("adopted", _format_adoption),
)
COST_ROWS: Sequence[Row] = (
    ("time", lambda job: "" if job.report.seconds is None else format_seconds(job.report.seconds)),
    ("model calls", _count_calls),
    ("tokens in / out", _format_tokens),
    ("price", _format_cost),
)
PROVENANCE_ROWS: Sequence[Row] = (
    ("model", lambda job: job.called.model),
    ("rows", lambda job: job.report.row_origin.text if job.report.row_origin else ""),
    ("code", _format_code),
)
