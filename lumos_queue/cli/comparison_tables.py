"""Print comparisons of jobs as text. The figures are computed elsewhere; this module only converts them to per cent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.difference_words import format_difference, format_p, format_points
from lumos_queue.cli.episode_list import truncate_line
from lumos_queue.cli.field_tables import print_differences
from lumos_queue.cli.output import escape
from lumos_queue.cli.step_tables import print_step_pair
from lumos_queue.cli.text_columns import truncate
from lumos_queue.records import Ending
from lumos_queue.reports.comparison import explain_no_difference
from lumos_queue.reports.differences import describe_differences

Found = dict[str, Any]
_COLUMN = 18  #: terminal cells for a job's figures
_HEADS = 5  #: lines about differences, above a job's id


def print_comparison(report: Found, max_tasks: int) -> None:
    """Print a report of `reports.comparison.compare_jobs`, with at most `max_tasks` fixed and broken tasks per pair."""
    console = output.console()
    first, *other_jobs = report["jobs"]
    jobs_per_table = max(1, (console.width - 28) // _COLUMN - 1)
    for start in range(0, len(other_jobs), jobs_per_table):
        _print_table(console, report, [first, *other_jobs[start : start + jobs_per_table]])
    for comparison in report["comparisons"]:
        console.print(_conclude(comparison, report["metric"]), soft_wrap=False)
    for comparison in report["comparisons"]:
        print_differences(console, comparison, report["metric"])
    for note in report["notes"]:
        console.print(escape(note), style="yellow")
    for comparison in report["comparisons"]:
        for name, adjective in (("fixed", "better"), ("broken", "worse")):
            _print_pairs(console, comparison, name, adjective, max_tasks)
    for comparison in report["comparisons"]:
        for pair in comparison.get("side_by_side", ()):
            console.print()
            print_step_pair(pair)


def _print_table(console: Any, report: Found, jobs: Sequence[Found]) -> None:
    by_job = {comparison["b"]: comparison for comparison in report["comparisons"]}
    comparisons = [by_job.get(job["job"]) for job in jobs]
    table = Table(
        title=f"compare {escape(report['benchmark'])} ({escape(report['split'])}) by {report['metric']}",
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for job in jobs:
        heads = [escape(truncate(line, _COLUMN, middle=True)) for line in describe_differences(job["differs"])[:_HEADS]]
        table.add_column("\n".join([*heads, job["job"]]), justify="right")
    for name, format_cell in _OF_JOB:
        if any(cells := [format_cell(job) for job in jobs]):
            table.add_row(name, *cells)
    for name, format_pair in _OF_PAIR:
        if any(cells := [format_pair(comparison) if comparison else "" for comparison in comparisons]):
            table.add_row(name, *cells)
    console.print(table)


def _interval(score: Found) -> str:
    low, high = score["ci95"]
    return f"{100 * score['value']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _score(job: Found) -> str:
    score = job["score"]
    if "bounds" in score:
        low, high = score["bounds"]
        return f"{100 * low:.1f} to {100 * high:.1f}"
    return _interval(score)


def _per_right(name: str, form: str) -> Callable[[Found], str]:
    return lambda job: format(job["per_right"][name], form) if name in job["per_right"] else ""


def _count_right(job: Found) -> str:
    return f"{job['right']:,} of {job['judged']:,}" if job["right"] is not None else ""


_OF_JOB = (
    ("score, % [95 %]", _score),
    ("right of judged", _count_right),
    ("items judged", lambda job: f"{job['judged']:,} of {job['items']:,}" if job["judged"] != job["items"] else ""),
    ("ended infra_error", lambda job: f"{job[Ending.INFRA_ERROR]:,}" if job[Ending.INFRA_ERROR] else ""),
    ("model calls", lambda job: f"{job['calls']:,}"),
    ("tokens in", lambda job: f"{job['tokens']['prompt']:,}"),
    ("tokens out", lambda job: f"{job['tokens']['completion']:,}"),
    ("seconds", lambda job: f"{job['seconds']:,.0f}" if "seconds" in job else ""),
    ("USD", lambda job: format(job["usd"], ",.2f" if job["usd"] >= 1 else ".4f") if "usd" in job else ""),
    ("for each right answer:", lambda job: " " if job["per_right"] else ""),
    ("  model calls", _per_right("calls", ",.1f")),
    ("  tokens", _per_right("tokens", ",.0f")),
    ("  seconds", _per_right("seconds", ",.2f")),
    ("  USD", _per_right("usd", ",.4f")),
)


def _bounds(comparison: Found) -> str:
    if "bounds" not in comparison or comparison["of"] == comparison["pairs"]:
        return ""
    return f"{format_points(comparison['bounds'][0])} to {format_points(comparison['bounds'][1])}"


def _count_pairs(comparison: Found) -> str:
    return f"{comparison['pairs']:,}" + (
        f" of {comparison['of']:,}" if comparison.get("of", comparison["pairs"]) != comparison["pairs"] else ""
    )


def _count_tasks(comparison: Found) -> str:
    return (
        f"{comparison['better']:,} / {comparison['worse']:,} of {comparison['tasks']:,}"
        if comparison["clustered"]
        else ""
    )


_OF_PAIR = (
    ("difference, points [95 %]", format_difference),
    ("p", lambda comparison: format_p(comparison["p"])),
    ("p, Holm", lambda comparison: format_p(comparison["p_holm"]) if comparison["p_holm"] != comparison["p"] else ""),
    ("pairs", _count_pairs),
    ("with the unjudged", _bounds),
    ("fixed / broken", lambda comparison: f"{comparison['fixed']:,} / {comparison['broken']:,}"),
    (
        "both / neither right",
        lambda comparison: f"{comparison['both']:,} / {comparison['neither']:,}" if comparison["binary"] else "",
    ),
    ("tasks better / worse", _count_tasks),
    (
        "tasks for 80 % power",
        lambda comparison: f"{comparison['tasks_for_power']:,}" if comparison["tasks_for_power"] else "",
    ),
)


def _conclude(comparison: Found, metric: str) -> str:
    """Return a sentence that states whether one job of a pair is better, with p-value or interval."""
    low, high = (format_points(value) for value in comparison["ci95"])
    significance = f"p = {format_p(comparison['p_holm'])}".replace("= <", "<") + (
        ", Holm" if comparison["p_holm"] != comparison["p"] else ""
    )
    details = f"({significance}; {comparison['test']}; interval: {comparison['interval']})"
    if comparison["p_holm"] < 0.05:
        direction = "better" if comparison["difference"] > 0 else "worse"
        return (
            f"{comparison['b']} is {direction} than {comparison['a']} by "
            f"{abs(100 * comparison['difference']):.1f} points of {metric} {details}."
        )
    message = (
        f"No difference between {comparison['a']} and {comparison['b']} is shown: "
        f"it may be {low} to {high} points {details}."
    )
    return message + explain_no_difference(comparison)


def _print_pairs(console: Any, comparison: Found, name: str, adjective: str, max_tasks: int) -> None:
    pairs = comparison[f"{name}_pairs"][:max_tasks]
    if not pairs:
        return
    count = comparison[name]
    suffix = f", the first {len(pairs):,}" if len(pairs) < count else ""
    kind = "tasks" if not comparison["clustered"] else "samples"
    console.print(
        f"\n{name}: {count:,} {kind} on which {comparison['b']} is {adjective} than {comparison['a']}{suffix}"
    )
    values = ["" if comparison["binary"] else f"{pair['value_a']:.2f} > {pair['value_b']:.2f}  " for pair in pairs]
    widths = [max(len(pair[side]) for pair in pairs) for side in ("a", "b")]
    for pair, value in zip(pairs, values, strict=True):
        names = f"{pair['a']:<{widths[0]}}  {pair['b']:<{widths[1]}}  {value}"
        question = truncate_line(" ".join(pair["question"].split()), max(0, console.width - len(names)))
        console.print(escape(f"{names}{question}"), soft_wrap=True)
