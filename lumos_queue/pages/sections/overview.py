"""The first look at jobs: a table with a column for each job, and sentences on what is missing and what failed.

It has what readers ask first: the score beside the best rule without a model, whether the job is complete, how episodes
ended, time, calls, tokens and price, and the origin of rows and code. All other figures are in the sections of a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState, JobState
from db.queue.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.pages.limits import shorten
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.conversion import draw_verdicts, tabulate_outcomes
from lumos_queue.pages.sections.details import tabulate_samples
from lumos_queue.pages.sections.feedback import feedback
from lumos_queue.pages.sections.provenance import format_reply_endings
from lumos_queue.pages.sections.scores import main_metric, tabulate_overalls
from lumos_queue.pages.sections.training import tabulate_fits, tabulate_windows
from lumos_queue.records import Ending
from lumos_queue.reports.completeness import remark
from lumos_queue.reports.differences import describe_differences
from lumos_queue.reports.score_values import Metric
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.reports.tool_rules import BY_RULE, PASS, TIED, WIN, WON, label_metric
from lumos_queue.util.wording import (
    format_count,
    format_price,
    format_seconds,
    format_share,
    format_whole_metric,
    plain,
    plural,
)

MAX_METRICS = 5  #: metrics of the table
MAX_VERDICTS = 8  #: filters of a conversion
MAX_PROBLEMS, MAX_MESSAGE = 3, 160  #: problems of a job, and characters of a message
MAX_DIFFERENCES, MAX_HEAD = 4, 24  #: lines about differences in the head of a column, and characters of a line

_Row = tuple[str, Callable[[JobMaterial], str]]


def overview(material: Material) -> Iterator[Block]:
    """Yield a table for each kind of jobs on the same rows, and the remarks on each job."""
    groups: dict[tuple[str, str, str, int], list[JobMaterial]] = {}
    for job in material.jobs:
        groups.setdefault((job.row.kind, job.row.benchmark, job.row.split, job.report.n), []).append(job)
    for (kind, *_), jobs in groups.items():
        if kind == JobKind.TRAIN:
            for job in jobs:
                yield from _training(job)
        else:
            yield _table(jobs)
            for job in jobs:
                yield from _further_tables(job)
        for job in jobs:
            yield from remarks_on(job)


def _further_tables(job: JobMaterial) -> Iterator[Block]:
    """Yield the tables of results that only some jobs have."""
    if figures := job.report.conversion:
        if verdicts := figures.verdicts[:MAX_VERDICTS]:
            yield draw_verdicts(f"overview-{job.id}", job, verdicts)
        yield from tabulate_outcomes(job.id, figures)
    if job.report.samples:
        yield tabulate_samples(job, job.report.samples)
    yield from tabulate_overalls(job.report, job.id)


def _table(jobs: Sequence[JobMaterial]) -> Table:
    first = jobs[0].report
    heads, formulation = _heads(jobs)
    split = f" ({first.split})" if first.split else ""
    title = f"{first.kind} {first.benchmark}{split}{formulation}"
    rows = [
        *_metric_rows(jobs),
        *_rule_rows(jobs),
        *_STATE_ROWS,
        *_ending_rows(jobs),
        *_reply_rows(jobs),
        *_COST_ROWS,
        *_PROVENANCE_ROWS,
    ]
    lines = [[label, *(tell(job) for job in jobs)] for label, tell in rows]
    return Table(title, ["", *heads], [line for line in lines if any(line[1:])], parallel=True)


def _heads(jobs: Sequence[JobMaterial]) -> tuple[list[str], str]:
    """Return the head of each job's column, and the formulation of all jobs for the title; '' if the heads have it.

    A head has the job's id, and the facts in which it differs from the other jobs. A single job has its name.
    """
    differences = [job.report.differs or {} for job in jobs]
    names = dict.fromkeys(name for facts in differences for name in facts)
    differing_names = [name for name in names if name != "code" and len({facts.get(name) for facts in differences}) > 1]
    heads = []
    for job, facts in zip(jobs, differences, strict=True):
        lines = describe_differences({name: facts[name] for name in differing_names if name in facts})
        if not differing_names:
            lines = [job.row.name] if job.row.name else []
        heads.append("\n".join([job.id, *(shorten(line, MAX_HEAD) for line in lines[:MAX_DIFFERENCES])]))
    formulation = jobs[0].report.formulation
    has_one = len({job.report.formulation for job in jobs}) == 1
    return heads, f", {formulation}" if formulation and has_one else ""


def _metric_rows(jobs: Sequence[JobMaterial]) -> Iterator[_Row]:
    """Yield the rows of the metrics, the main metric first, and of the best rule without a model."""
    names = dict.fromkeys(name for job in jobs for name in (job.metric, *job.report.metrics) if name)
    has_rules = all(job.report.rules for job in jobs)
    for name in [name for name in names if not (has_rules and name in BY_RULE)][:MAX_METRICS]:
        yield (
            label_metric(name, bool(jobs[0].report.rules)),
            lambda job, name=name: format_whole_metric(_metric(job, name)),
        )
        if name == jobs[0].metric:
            yield "best rule without a model", _format_best_rule


def _metric(job: JobMaterial, name: str) -> Metric | None:
    return main_metric(job) if name == job.metric else job.report.metrics.get(name)


def _format_best_rule(job: JobMaterial) -> str:
    if not (rules := job.report.baselines):
        return ""
    name = max(rules, key=lambda rule: rules[rule].value)
    return f"{format_share(rules[name].value)}, {plain(name)}"


def _rule_rows(jobs: Sequence[JobMaterial]) -> Iterator[_Row]:
    """Yield the rows of a judge's rates by each rule of ToolEval."""
    for name in dict.fromkeys(name for job in jobs for name in job.report.rules or ()):
        for figure in (PASS, WIN, WON, TIED):
            yield (
                f"{plain(figure)}, rule={name}",
                lambda job, name=name, figure=figure: format_whole_metric(_rate(job, name, figure)),
            )


def _rate(job: JobMaterial, rule: str, figure: str) -> Metric | None:
    rates = (job.report.rules or {}).get(rule)
    return rates.figures.get(figure) if rates else None


def _ending_rows(jobs: Sequence[JobMaterial]) -> Iterator[_Row]:
    names = dict.fromkeys(name for job in jobs for name in _endings(job))
    for name in sorted(names, key=lambda ending: (ending != Ending.ANSWERED, ending)):
        yield f"ended {name}", lambda job, name=name: _count_ending(job, name)


def _reply_rows(jobs: Sequence[JobMaterial]) -> Iterator[_Row]:
    """Yield a row for each role with replies that were cut, or that led to no answer."""
    for role in sorted({role for job in jobs for role in job.report.reply_endings or ()}):
        yield f"replies of {role}", lambda job, role=role: format_reply_endings(job.report, role)


def _count_ending(job: JobMaterial, ending: str) -> str:
    return format_count(_endings(job).get(ending, 0), job.report.n)


def _endings(job: JobMaterial) -> Mapping[str, int]:
    return job.report.episodes.endings if job.report.episodes else {}


def _format_state(job: JobMaterial) -> str:
    state = job.report.real_state or job.report.state
    return state if job.report.state != JobState.DONE else ""


def _count_items(state: ItemState) -> Callable[[JobMaterial], str]:
    return lambda job: f"{count:,}" if (count := job.report.items.get(state)) else ""


def _count_right(job: JobMaterial) -> str:
    scores = job.report.scores
    return format_count(scores.correct, job.report.n) if scores and scores.correct is not None else ""


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


_STATE_ROWS: Sequence[_Row] = (
    ("state", _format_state),
    ("items finished", lambda job: f"{job.report.finished:,} of {job.report.n:,}"),
    ("right", lambda job: _count_right(job) if job.row.kind != JobKind.CONVERT else ""),
    ("accepted for both", lambda job: _count_right(job) if job.row.kind == JobKind.CONVERT else ""),
    ("rating, 1 to 10", _format_rating),
    ("plans", _format_plans),
    ("quarantined", _count_items(ItemState.QUARANTINED)),
    ("waiting for approval", _count_items(ItemState.AWAITING)),
    ("adopted", _format_adoption),
)
_COST_ROWS: Sequence[_Row] = (
    ("time", lambda job: "" if job.report.seconds is None else format_seconds(job.report.seconds)),
    ("model calls", _count_calls),
    ("tokens in / out", _format_tokens),
    ("price", _format_cost),
)
_PROVENANCE_ROWS: Sequence[_Row] = (
    ("rows", lambda job: job.report.row_origin.text if job.report.row_origin else ""),
    ("code", _format_code),
)


def _training(job: JobMaterial) -> Iterator[Block]:
    report = job.report
    yield Text(f"train {job.id}: {report.finished:,} of {report.n:,} items, {_format_state(job) or 'done'}")
    if (training := report.training) is None:
        return
    if training.feedback_steps:
        yield from feedback(training.feedback_steps, training.windows)
    elif training.fits:
        yield tabulate_fits(job, training.fits)
    else:
        yield from tabulate_windows(job, training.windows)
    for window in training.windows:
        if window.reward is None and window.loss is None:
            yield from (Text(f"{plain(name)}: {value}") for name, value in window.counts.items())
    for model in training.models or ():
        yield Text(f"model {model.name}: {model.path}")


def remarks_on(job: JobMaterial) -> Iterator[Text]:
    """Yield the sentences on a job: what is missing and how it continues, why it waits, and what failed."""
    report = job.report
    if text := remark_on_choice(job.row.parent, job.row.chosen, job.row.benchmark):
        yield Text(f"{job.id}: {text}", warns=True)
    conversion, scorers = report.conversion, report.scoring
    remarks = [*(conversion.remarks if conversion else ()), *((scorers.remarks or ()) if scorers else ())]
    for text in remarks:
        yield Text(f"{job.id}: {text}", warns=True)
    if text := remark(report.result):
        yield Text(f"{job.id} is {text}", warns=True)
    if report.waiting == PAUSED_BY_PERSON:
        yield Text(f"{job.id} is paused by a person. Continue with: lumos resume {job.id}", warns=True)
    elif report.waiting and not report.completeness.reason:
        yield Text(f"{job.id} waits: {report.waiting}", warns=True)
    for problem in report.episodes.problems[:MAX_PROBLEMS] if report.episodes else ():
        reason = ": ".join(filter(None, (problem.ending, shorten(problem.message, MAX_MESSAGE))))
        yield Text(f"{job.id}: {plural(problem.episodes, 'episode')}: {reason}")
    for failure in report.failures or ():
        yield Text(f"{job.id}: {plural(failure.items, 'item')} {failure.kind}: {failure.go_on}")
    for name, rates in (report.rules or {}).items():
        if count := rates.lacking:
            yield Text(
                f"{job.id}: {count:,} of {report.n:,} runs lack votes by which rule={name} compares them. Earlier "
                "versions did not request them: judge the runs again with lumos judge.",
                warns=True,
            )
