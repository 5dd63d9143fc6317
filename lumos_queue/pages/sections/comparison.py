"""The section Comparison: jobs are compared with the first job task by task, by reports.comparison.compare_jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from lumos_queue.errors import SpecError
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.pages.material import Material
from lumos_queue.pages.sections.fields import differences_by_field
from lumos_queue.pages.wording import format_points, format_price, format_probability, format_share, plain, plural
from lumos_queue.reports.comparison import Options, compare_jobs, explain_no_difference

Found = Mapping[str, Any]
MAX_LISTED = 20  #: limit of the fixed, and of the broken, tasks of a comparison
MAX_TOLD = 12  #: limit of the comparisons that have a sentence


def read_comparisons(connection: Connection, material: Material, by: Sequence[str] = ()) -> list[Found | str]:
    """Compare the evaluations of each group with its first. For a group that cannot be compared, the text says why."""
    prices = material.prices
    options = Options(max_pairs=MAX_LISTED, prices=(prices.prompt, prices.completion) if prices else None, by=by)
    comparisons: list[Found | str] = []
    for (kind, _, _), jobs in material.groups():
        if kind == JobKind.EVALUATE and len(jobs) > 1:
            try:
                comparisons.append(compare_jobs(connection, [job.row for job in jobs], options))
            except SpecError as error:
                comparisons.append(str(error))
    return comparisons


def comparison(comparisons: Sequence[Found | str], limits: PageLimits) -> Iterator[Block]:
    """Yield the blocks of the section. `comparisons` come from `read_comparisons`."""
    for number, report in enumerate(comparisons):
        if isinstance(report, str):
            yield Text(report, warns=True)
            continue
        yield from (Text(_conclude(pair, report["metric"])) for pair in report["comparisons"][:MAX_TOLD])
        yield from (Text(note, warns=True) for note in report["notes"])
        yield _plot(f"comparison-{number}", report)
        for index, pair in enumerate(report["comparisons"]):
            yield from differences_by_field(f"comparison-{number}-{index}", pair, report["metric"])
        if any(job["per_right"] for job in report["jobs"]):
            yield _costs(report)
        max_rows = max(1, limits.rows // (20 * len(report["comparisons"])))
        for pair in report["comparisons"]:
            for name, direction in (("fixed", "better"), ("broken", "worse")):
                if pair[f"{name}_pairs"]:
                    yield _pairs(pair, name, direction, max_rows, limits)


def _conclude(pair: Found, metric: str) -> str:
    """Return a sentence on whether the second job is better, worse, or not shown to differ."""
    low, high = (format_points(value) for value in pair["ci95"])
    correction = ", after Holm's correction" if pair["p_holm"] != pair["p"] else ""
    how = (
        f"(p\N{NO-BREAK SPACE}{format_probability(pair['p_holm'])}{correction}; {pair['test']}; "
        f"interval: {pair['interval']})"
    )
    if pair["p_holm"] < 0.05:
        direction = "better" if pair["difference"] > 0 else "worse"
        distance = f"{abs(100 * pair['difference']):.1f} points of {plain(metric)}"
        return f"{pair['b']} is {direction} than {pair['a']} by {distance} [{low}, {high}] {how}."
    conclusion = f"No difference between {pair['a']} and {pair['b']} is shown: it may be {low} to {high} points {how}."
    return conclusion + explain_no_difference(pair)


def _plot(key: str, report: Found) -> Figure:
    rows, lines = [], []
    for pair in report["comparisons"]:
        low, high = pair["ci95"]
        value, interval = format_points(pair["difference"]), f"[{format_points(low)}, {format_points(high)}]"
        open_ = "bounds" in pair and pair.get("of", pair["pairs"]) != pair["pairs"]
        bounds = (pair["bounds"][0], pair["bounds"][1]) if open_ else None
        rows.append(
            Estimate(
                f"{pair['b']} − {pair['a']}",
                pair["difference"],
                low,
                high,
                "ours",
                None,
                f"{value} {interval}",
            )
        )
        lines.append(
            [
                f"{pair['b']} − {pair['a']}",
                value,
                interval,
                format_probability(pair["p"]),
                format_probability(pair["p_holm"]),
                f"{pair['pairs']:,}",
                f"{pair['fixed']:,}",
                f"{pair['broken']:,}",
                f"{pair['both']:,}" if pair["binary"] else "",
                f"{pair['neither']:,}" if pair["binary"] else "",
                f"{pair['tasks_for_power']:,}" if pair["tasks_for_power"] else "",
                f"{format_points(bounds[0])} to {format_points(bounds[1])}" if bounds else "",
            ]
        )
    ends = [abs(end) for pair in report["comparisons"] for end in (*pair["ci95"], pair["difference"])]
    axis_end = min(round_up(max(ends, default=0.1)), 1.0)
    title = f"Difference to {report['baseline']}, in points of {plain(report['metric'])}"
    heads = [
        "",
        "difference",
        "95 % interval",
        "p",
        "p, Holm",
        "pairs",
        "fixed",
        "broken",
        "both right",
        "both wrong",
        "tasks for 80 % power",
        "with what is not judged",
    ]
    columns = [column for column in range(len(heads)) if any(line[column] for line in lines)]
    table = Table(
        title, [heads[column] for column in columns], [[line[column] for column in columns] for line in lines]
    )
    return Figure(draw_forest(key, title, rows, -axis_end, axis_end, "points"), table)


def _costs(report: Found) -> Table:
    """Return a table of what a right answer costs in each job: calls, tokens, seconds and price."""
    names = (
        ("calls", "model calls", "{:,.1f}".format),
        ("tokens", "tokens", "{:,.0f}".format),
        ("seconds", "seconds", "{:,.2f}".format),
        ("usd", "price", format_price),
    )
    measures = [measure for measure in names if any(measure[0] in job["per_right"] for job in report["jobs"])]
    rows = [
        [job["job"], format_share(job["score"]["value"]), "" if job["right"] is None else f"{job['right']:,}"]
        + [tell(job["per_right"][name]) if name in job["per_right"] else "" for name, _, tell in measures]
        for job in report["jobs"]
    ]
    return Table("For each right answer", ["job", "score", "right", *(heading for _, heading, _ in measures)], rows)


def _pairs(job_pair: Found, name: str, direction: str, max_rows: int, limits: PageLimits) -> Table:
    pairs = job_pair[f"{name}_pairs"][:max_rows]
    kind = "sample" if job_pair["clustered"] else "task"
    of = f", the first {len(pairs):,}" if len(pairs) < job_pair[name] else ""
    title = (
        f"{name.capitalize()}: {plural(job_pair[name], kind)} on which {job_pair['b']} is {direction} "
        f"than {job_pair['a']}{of}"
    )
    rows = [
        [
            pair["b"],
            pair["a"],
            f"{pair['value_b']:g}",
            f"{pair['value_a']:g}",
            truncate(pair["question"], limits.text // 8),
        ]
        for pair in pairs
    ]
    heads = [job_pair["b"], job_pair["a"], "score", f"of {job_pair['a']}", "question"]
    return Table(title, heads, rows, texts=frozenset({0, 1, 4}), folded=True)
