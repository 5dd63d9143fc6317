"""The section Comparison: jobs are compared with the first job task by task, by reports.comparison.compare_jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.limits import shorten, truncate
from lumos_queue.pages.sections.fields import differences_by_field
from lumos_queue.reports.comparison_values import ComparedJob, JobsComparison, PairComparison, PairFigures
from lumos_queue.reports.differences import describe_differences
from lumos_queue.util.wording import (
    format_difference,
    format_distance,
    format_points,
    format_price,
    format_probability,
    format_seconds,
    format_whole_metric,
    plain,
    plural,
    state_probability,
)

MAX_QUESTION = 200  #: characters of a listed task's question
MAX_TOLD = 12  #: limit of the comparisons that have a sentence
MAX_DIFFERENCES, MAX_HEAD = 5, 24  #: lines about differences in the head of a job's column, and characters of a line


def comparison(
    comparisons: Sequence[JobsComparison | str], max_tasks: int, max_text: int = MAX_QUESTION
) -> Iterator[Block]:
    """Yield the blocks of the section.

    `comparisons` are those of the material. At most `max_tasks` fixed, and broken, tasks of a pair of jobs are
    listed; their questions are cut to `max_text` characters.
    """
    for number, compared in enumerate(comparisons):
        if isinstance(compared, str):
            yield Text(compared, warns=True)
            continue
        yield from (Text(conclude(pair, compared.metric)) for pair in compared.comparisons[:MAX_TOLD])
        yield from (Text(note, warns=True) for note in compared.notes)
        yield _plot(f"comparison-{number}", compared)
        for index, pair in enumerate(compared.comparisons):
            yield from differences_by_field(f"comparison-{number}-{index}", pair, compared.metric)
        for pair in compared.comparisons:
            for is_fixed in (True, False):
                if max_tasks and (pair.fixed_pairs if is_fixed else pair.broken_pairs):
                    yield _changed_tasks(pair, is_fixed, max_tasks, max_text)


def conclude(pair: PairComparison, metric: str) -> str:
    """Return a sentence on whether the second job is better, worse, or not shown to differ."""
    figures = pair.figures
    low, high = (format_points(value) for value in figures.ci95)
    correction = ", after Holm's correction" if pair.p_holm != figures.p else ""
    how = f"({state_probability(pair.p_holm)}{correction}; {figures.test}; interval: {figures.interval})"
    if pair.p_holm < 0.05:
        direction = "better" if figures.difference > 0 else "worse"
        distance = f"{format_distance(figures.difference)} of {plain(metric)}"
        return f"{pair.b} is {direction} than {pair.a} by {distance} [{low}, {high}] {how}."
    conclusion = f"No difference between {pair.a} and {pair.b} is shown: it may be {low} to {high} points {how}."
    return conclusion + explain_no_difference(figures)


def explain_no_difference(figures: PairFigures) -> str:
    """Return sentences to append to "no difference is shown", each after a space."""
    sentences = ""
    if not figures.ci95[0] <= 0 <= figures.ci95[1]:
        sentences = " The interval leaves out 0, but the test is stricter than the interval, above all with few pairs."
    if figures.tasks_for_power:
        tasks = f"{figures.tasks_for_power:,} tasks"
        sentences += f" If they differ as much as here, {tasks} would show it in 80 of 100 cases."
    return sentences


def _plot(key: str, compared: JobsComparison) -> Figure:
    """Return a forest plot of the differences, with a table that has a column for each job."""
    rows = [
        Estimate(
            f"{pair.b} − {pair.a}",
            pair.figures.difference,
            *pair.figures.ci95,
            amount=format_difference(pair.figures.difference, pair.figures.ci95),
        )
        for pair in compared.comparisons
    ]
    ends = [abs(end) for pair in compared.comparisons for end in (*pair.figures.ci95, pair.figures.difference)]
    axis_end = min(round_up(max(ends, default=0.1)), 1.0)
    benchmark = f"{compared.benchmark} ({compared.split}), {plain(compared.metric)}"
    title = f"{benchmark}: differences to {compared.baseline} in points"
    pairs = {pair.b: pair for pair in compared.comparisons}
    lines = [[name, *map(tell, compared.jobs)] for name, tell in _OF_JOB]
    lines += [
        [name, *(tell(pairs[job.job]) if job.job in pairs else "" for job in compared.jobs)] for name, tell in _OF_PAIR
    ]
    lines += [[name, *map(tell, compared.jobs)] for name, tell in _OF_COST]
    table = Table(
        title,
        ["", *map(_head, compared.jobs)],
        [line for line in lines if any(line[1:])],
        note=HOW if len(compared.jobs) > 2 else "",
        parallel=True,
    )
    return Figure(draw_forest(key, title, rows, -axis_end, axis_end, "points"), table)


HOW = "'p, Holm' is corrected by Holm's method over the jobs of the table; 'p' is not corrected."


def _head(job: ComparedJob) -> str:
    """Return the head of a job's column: its id, and lines on how it differs from the other jobs."""
    differences = describe_differences(job.differs)[:MAX_DIFFERENCES]
    return "\n".join([job.job, *(shorten(line, MAX_HEAD) for line in differences)])


def _count_right(job: ComparedJob) -> str:
    return f"{job.right:,} of {job.judged:,}" if job.right is not None else ""


def _count_judged(job: ComparedJob) -> str:
    return f"{job.judged:,} of {job.items:,}" if job.judged != job.items else ""


def _per_right(name: str, form: Callable[[float], str]) -> Callable[[ComparedJob], str]:
    return lambda job: form(job.per_right[name]) if name in job.per_right else ""


#: The rows of the table about each job: the label, and the function that formats the cell.
_OF_JOB: Sequence[tuple[str, Callable[[ComparedJob], str]]] = (
    ("score [95 %]", lambda job: format_whole_metric(job.score)),
    ("right of judged", _count_right),
    ("items judged", _count_judged),
    ("ended infra_error", lambda job: f"{job.infra_error:,}" if job.infra_error else ""),
)


def _format_bounds(pair: PairComparison) -> str:
    if pair.bounds is None or pair.of == pair.figures.pairs:
        return ""
    low, high = map(format_points, pair.bounds)
    return f"{low} to {high}"


def _count_pairs(pair: PairComparison) -> str:
    pairs = pair.figures.pairs
    return f"{pairs:,}" if pair.of in (None, pairs) else f"{pairs:,} of {pair.of:,}"


def _count_both(pair: PairComparison) -> str:
    figures = pair.figures
    return "" if figures.both is None else f"{figures.both:,} / {figures.neither:,}"


def _count_tasks(pair: PairComparison) -> str:
    figures = pair.figures
    return f"{figures.better:,} / {figures.worse:,} of {figures.tasks:,}" if figures.clustered else ""


def _format_corrected(pair: PairComparison) -> str:
    return format_probability(pair.p_holm) if pair.p_holm != pair.figures.p else ""


#: The rows of the table about what each job has cost.
_OF_COST: Sequence[tuple[str, Callable[[ComparedJob], str]]] = (
    ("model calls", lambda job: f"{job.calls:,}"),
    ("tokens in", lambda job: f"{job.tokens.prompt:,}"),
    ("tokens out", lambda job: f"{job.tokens.completion:,}"),
    ("time", lambda job: "" if job.seconds is None else format_seconds(job.seconds)),
    ("price", lambda job: "" if job.usd is None else format_price(job.usd)),
    ("calls per right answer", _per_right("calls", "{:,.1f}".format)),
    ("tokens per right answer", _per_right("tokens", "{:,.0f}".format)),
    ("time per right answer", _per_right("seconds", format_seconds)),
    ("price per right answer", _per_right("usd", format_price)),
)


#: The rows of the table about each pair of jobs, in the column of the second job.
_OF_PAIR: Sequence[tuple[str, Callable[[PairComparison], str]]] = (
    ("difference, points", lambda pair: format_difference(pair.figures.difference, pair.figures.ci95)),
    ("p", lambda pair: format_probability(pair.figures.p)),
    ("p, Holm", _format_corrected),
    ("pairs", _count_pairs),
    ("with what is not judged", _format_bounds),
    ("fixed / broken", lambda pair: f"{pair.figures.fixed:,} / {pair.figures.broken:,}"),
    ("both right / wrong", _count_both),
    ("tasks better / worse", _count_tasks),
    (
        "tasks for 80 % power",
        lambda pair: f"{pair.figures.tasks_for_power:,}" if pair.figures.tasks_for_power else "",
    ),
)


def _changed_tasks(pair: PairComparison, is_fixed: bool, max_tasks: int, max_text: int) -> Table:
    """Return a table of the tasks that job B has fixed, or broken."""
    name, direction = ("Fixed", "better") if is_fixed else ("Broken", "worse")
    count = pair.figures.fixed if is_fixed else pair.figures.broken
    changed = (pair.fixed_pairs if is_fixed else pair.broken_pairs)[:max_tasks]
    of = f", the first {len(changed):,}" if len(changed) < count else ""
    kind = "sample" if pair.figures.clustered else "task"
    title = f"{name}: {plural(count, kind)} on which {pair.b} is {direction} than {pair.a}{of}"
    rows = [
        [task.b, task.a, f"{task.value_b:g}", f"{task.value_a:g}", truncate(task.question, max_text)]
        for task in changed
    ]
    heads = [pair.b, pair.a, "score", f"of {pair.a}", "question"]
    return Table(title, heads, rows, texts=frozenset({0, 1, 4}), folded=True)
