"""Jobs task by task: what each fixed and broke of the first one, as reports.comparison.compare_jobs gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from lumos_queue.errors import SpecError
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.limits import PageLimits, cut
from lumos_queue.pages.material import Material
from lumos_queue.pages.sections.fields import differences_by_field
from lumos_queue.pages.wording import plain, plural, tell_points, tell_price, tell_probability, tell_share
from lumos_queue.reports.comparison import Options, compare_jobs, explain_no_difference

Found = Mapping[str, Any]
MAX_LISTED = 20  #: fixed, and broken, tasks of a comparison
MAX_TOLD = 12  #: comparisons that are also told in a sentence


def read_comparisons(connection: Connection, material: Material, by: Sequence[str] = ()) -> list[Found | str]:
    """Of each group of evaluations their comparison with the first of them, or why there is none, in words."""
    prices = material.prices
    options = Options(shown=MAX_LISTED, prices=(prices.prompt, prices.completion) if prices else None, by=by)
    found: list[Found | str] = []
    for (kind, _, _), jobs in material.groups():
        if kind == "evaluate" and len(jobs) > 1:
            try:
                found.append(compare_jobs(connection, [job.row for job in jobs], options))
            except SpecError as error:
                found.append(str(error))
    return found


def comparison(compared: Sequence[Found | str], limits: PageLimits) -> Iterator[Block]:
    """`compared`: a comparison of each group of jobs, or in words why they are not compared."""
    for number, found in enumerate(compared):
        if isinstance(found, str):
            yield Text(found, warns=True)
            continue
        yield from (Text(_conclude(one, found["metric"])) for one in found["comparisons"][:MAX_TOLD])
        yield from (Text(note, warns=True) for note in found["notes"])
        yield _plot(f"comparison-{number}", found)
        for place, one in enumerate(found["comparisons"]):
            yield from differences_by_field(f"comparison-{number}-{place}", one, found["metric"])
        if any(job["per_right"] for job in found["jobs"]):
            yield _costs(found)
        most = max(1, limits.rows // (20 * len(found["comparisons"])))
        for one in found["comparisons"]:
            for name, what in (("fixed", "better"), ("broken", "worse")):
                if one[f"{name}_pairs"]:
                    yield _pairs(one, name, what, most, limits)


def _conclude(one: Found, metric: str) -> str:
    """What the figures say, in a sentence."""
    low, high = (tell_points(value) for value in one["ci95"])
    corrected = ", after Holm's correction" if one["p_holm"] != one["p"] else ""
    how = (
        f"(p\N{NO-BREAK SPACE}{tell_probability(one['p_holm'])}{corrected}; {one['test']}; interval: {one['interval']})"
    )
    if one["p_holm"] < 0.05:
        which = "better" if one["difference"] > 0 else "worse"
        distance = f"{abs(100 * one['difference']):.1f}"
        return f"{one['b']} is {which} than {one['a']} by {distance} points of {plain(metric)} [{low}, {high}] {how}."
    told = f"No difference between {one['a']} and {one['b']} is shown: it may be {low} to {high} points {how}."
    return told + explain_no_difference(one)


def _plot(key: str, found: Found) -> Figure:
    rows, lines = [], []
    for one in found["comparisons"]:
        low, high = one["ci95"]
        value, interval = tell_points(one["difference"]), f"[{tell_points(low)}, {tell_points(high)}]"
        open_ = "bounds" in one and one.get("of", one["pairs"]) != one["pairs"]
        bounds = (one["bounds"][0], one["bounds"][1]) if open_ else None
        rows.append(
            Estimate(f"{one['b']} − {one['a']}", one["difference"], low, high, "ours", None, f"{value} {interval}")
        )
        lines.append(
            [
                f"{one['b']} − {one['a']}",
                value,
                interval,
                tell_probability(one["p"]),
                tell_probability(one["p_holm"]),
                f"{one['pairs']:,}",
                f"{one['fixed']:,}",
                f"{one['broken']:,}",
                f"{one['both']:,}" if one["binary"] else "",
                f"{one['neither']:,}" if one["binary"] else "",
                f"{one['tasks_for_power']:,}" if one["tasks_for_power"] else "",
                f"{tell_points(bounds[0])} to {tell_points(bounds[1])}" if bounds else "",
            ]
        )
    ends = [abs(end) for one in found["comparisons"] for end in (*one["ci95"], one["difference"])]
    most = min(round_up(max(ends, default=0.1)), 1.0)
    title = f"Difference to {found['baseline']}, in points of {plain(found['metric'])}"
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
    kept = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    table = Table(title, [heads[place] for place in kept], [[line[place] for place in kept] for line in lines])
    return Figure(draw_forest(key, title, rows, -most, most, "points"), table)


def _costs(found: Found) -> Table:
    """What a right answer took in each job."""
    names = (
        ("calls", "model calls", "{:,.1f}".format),
        ("tokens", "tokens", "{:,.0f}".format),
        ("seconds", "seconds", "{:,.2f}".format),
        ("usd", "price", tell_price),
    )
    used = [one for one in names if any(one[0] in job["per_right"] for job in found["jobs"])]
    rows = [
        [job["job"], tell_share(job["score"]["value"]), "" if job["right"] is None else f"{job['right']:,}"]
        + [tell(job["per_right"][name]) if name in job["per_right"] else "" for name, _, tell in used]
        for job in found["jobs"]
    ]
    return Table("For each right answer", ["job", "score", "right", *(told for _, told, _ in used)], rows)


def _pairs(one: Found, name: str, what: str, most: int, limits: PageLimits) -> Table:
    pairs = one[f"{name}_pairs"][:most]
    kind = "sample" if one["clustered"] else "task"
    of = f", the first {len(pairs):,}" if len(pairs) < one[name] else ""
    title = f"{name.capitalize()}: {plural(one[name], kind)} on which {one['b']} is {what} than {one['a']}{of}"
    rows = [
        [pair["b"], pair["a"], f"{pair['value_b']:g}", f"{pair['value_a']:g}", cut(pair["question"], limits.text // 8)]
        for pair in pairs
    ]
    heads = [one["b"], one["a"], "score", f"of {one['a']}", "question"]
    return Table(title, heads, rows, texts=frozenset({0, 1, 4}), folded=True)
