"""Comparisons of jobs for people. Only percentages are computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.difference_words import format_difference, format_p, format_points
from lumos_queue.cli.episode_list import chop
from lumos_queue.cli.field_tables import print_differences
from lumos_queue.cli.output import escape
from lumos_queue.cli.step_tables import print_step_pair
from lumos_queue.cli.text_columns import cut
from lumos_queue.reports.comparison import explain_no_difference
from lumos_queue.reports.differences import describe_differences

Found = dict[str, Any]
_COLUMN = 18  #: cells that a job's figures need
_HEADS = 5  #: lines of what differs, above a job's id


def print_comparison(found: Found, listed: int) -> None:
    """Print what `reports.comparison.compare_jobs` gives: tables, and `listed` fixed and broken tasks of each pair."""
    console = output.console()
    first, *others = found["jobs"]
    most = max(1, (console.width - 28) // _COLUMN - 1)
    for start in range(0, len(others), most):
        _print_table(console, found, [first, *others[start : start + most]])
    for one in found["comparisons"]:
        console.print(_conclude(one, found["metric"]), soft_wrap=False)
    for one in found["comparisons"]:
        print_differences(console, one, found["metric"])
    for note in found["notes"]:
        console.print(escape(note), style="yellow")
    for one in found["comparisons"]:
        for name, what in (("fixed", "better"), ("broken", "worse")):
            _print_pairs(console, one, name, what, listed)
    for one in found["comparisons"]:
        for pair in one.get("side_by_side", ()):
            console.print()
            print_step_pair(pair)


def _print_table(console: Any, found: Found, jobs: Sequence[Found]) -> None:
    by_job = {one["b"]: one for one in found["comparisons"]}
    compared = [by_job.get(job["job"]) for job in jobs]
    table = Table(
        title=f"compare {escape(found['benchmark'])} ({escape(found['split'])}) by {found['metric']}",
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for job in jobs:
        heads = [escape(cut(line, _COLUMN, middle=True)) for line in describe_differences(job["differs"])[:_HEADS]]
        table.add_column("\n".join([*heads, job["job"]]), justify="right")
    for name, tell in _OF_JOB:
        if any(cells := [tell(job) for job in jobs]):
            table.add_row(name, *cells)
    for name, tell_pair in _OF_PAIR:
        if any(cells := [tell_pair(one) if one else "" for one in compared]):
            table.add_row(name, *cells)
    console.print(table)


def _interval(measured: Found) -> str:
    low, high = measured["ci95"]
    return f"{100 * measured['value']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


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
    ("ended infra_error", lambda job: f"{job['infra_error']:,}" if job["infra_error"] else ""),
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


def _bounds(one: Found) -> str:
    if "bounds" not in one or one["of"] == one["pairs"]:
        return ""
    return f"{format_points(one['bounds'][0])} to {format_points(one['bounds'][1])}"


def _count_pairs(one: Found) -> str:
    return f"{one['pairs']:,}" + (f" of {one['of']:,}" if one.get("of", one["pairs"]) != one["pairs"] else "")


def _count_tasks(one: Found) -> str:
    return f"{one['better']:,} / {one['worse']:,} of {one['tasks']:,}" if one["clustered"] else ""


_OF_PAIR = (
    ("difference, points [95 %]", format_difference),
    ("p", lambda one: format_p(one["p"])),
    ("p, Holm", lambda one: format_p(one["p_holm"]) if one["p_holm"] != one["p"] else ""),
    ("pairs", _count_pairs),
    ("with the unjudged", _bounds),
    ("fixed / broken", lambda one: f"{one['fixed']:,} / {one['broken']:,}"),
    ("both / neither right", lambda one: f"{one['both']:,} / {one['neither']:,}" if one["binary"] else ""),
    ("tasks better / worse", _count_tasks),
    ("tasks for 80 % power", lambda one: f"{one['tasks_for_power']:,}" if one["tasks_for_power"] else ""),
)


def _conclude(one: Found, metric: str) -> str:
    """What the figures say, in a sentence."""
    low, high = (format_points(value) for value in one["ci95"])
    told = f"p = {format_p(one['p_holm'])}".replace("= <", "<") + (", Holm" if one["p_holm"] != one["p"] else "")
    how = f"({told}; {one['test']}; interval: {one['interval']})"
    if one["p_holm"] < 0.05:
        which = "better" if one["difference"] > 0 else "worse"
        return f"{one['b']} is {which} than {one['a']} by {abs(100 * one['difference']):.1f} points of {metric} {how}."
    shown = f"No difference between {one['a']} and {one['b']} is shown: it may be {low} to {high} points {how}."
    return shown + explain_no_difference(one)


def _print_pairs(console: Any, one: Found, name: str, what: str, listed: int) -> None:
    pairs = one[f"{name}_pairs"][:listed]
    if not pairs:
        return
    count = one[name]
    more = f", the first {len(pairs):,}" if len(pairs) < count else ""
    kind = "tasks" if not one["clustered"] else "samples"
    console.print(f"\n{name}: {count:,} {kind} on which {one['b']} is {what} than {one['a']}{more}")
    values = ["" if one["binary"] else f"{pair['value_a']:.2f} > {pair['value_b']:.2f}  " for pair in pairs]
    widths = [max(len(pair[side]) for pair in pairs) for side in ("a", "b")]
    for pair, value in zip(pairs, values, strict=True):
        names = f"{pair['a']:<{widths[0]}}  {pair['b']:<{widths[1]}}  {value}"
        question = chop(" ".join(pair["question"].split()), max(0, console.width - len(names)))
        console.print(escape(f"{names}{question}"), soft_wrap=True)
