"""Print audits as text: the new sample, the next annotation or run to label, and the report."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from db.queries.labels import KINDS
from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.cli.trajectory import print_trajectory
from lumos_queue.scoring.sampling import AuditKind

_MEMBERS = {AuditKind.ANNOTATIONS: "accepted annotations", AuditKind.RUNS: "runs"}


def print_draw(sample: dict[str, Any]) -> None:
    """Print the strata of a new sample of annotations or runs."""
    table = _table("stratum", "population", "drawn", "each stands for")
    for stratum in sample["strata"]:
        table.add_row(
            escape(stratum["stratum"]),
            f"{stratum['population']:,}",
            f"{stratum['drawn']:,}",
            f"{stratum['weight']:.2f}",
        )
    console = output.console()
    console.print(table)
    suffix = f", {sample['labelled_twice']:,} of them to be labelled twice" if sample["labelled_twice"] else ""
    console.print(
        f"drawn {sample['drawn']:,} of {sample['population']:,} {_MEMBERS[sample['kind']]}{suffix}. "
        f"Begin with: lumos audit next {sample['audit']}",
        markup=False,
        soft_wrap=True,
    )


def print_next(task: dict[str, Any]) -> None:
    """Print the annotation or run to label, and the command that labels it."""
    if not task["of"]:
        output.show(f"the audit {task['audit']} has no places left: the jobs of its annotations or runs were removed")
        return
    if task["place"] is None:
        output.show(f"{task['labeller']} has labelled all {task['of']}. See: lumos audit report {task['audit']}")
        return
    print_trajectory(task["episode"], False)
    output.show(
        f"place {task['place']}; {task['left']} of {task['of']} left to label. Label it with: "
        f"lumos audit label {task['audit']} {task['place']} right|wrong|unsure (wrong: --step 2-1 --kind "
        f"{'|'.join(KINDS)})"
    )


def print_progress(progress: dict[str, Any]) -> None:
    """Print how many items each labeller has left."""
    for labeller, remaining in progress["left"].items():
        output.show(
            f"{labeller}: {remaining} left"
            if remaining
            else f"{labeller}: all labelled. See: lumos audit report {progress['audit']}"
        )


def print_report(report: dict[str, Any]) -> None:
    """Print the report of an audit, by stratum and overall."""
    console = output.console()
    table = _table("stratum", "population", "drawn", "right", "wrong", "unsure", "disputed", "left")
    for stratum in report["strata"]:
        counts = (
            stratum[name] for name in ("population", "drawn", "right", "wrong", "unsure", "disputed", "unlabelled")
        )
        table.add_row(escape(stratum["stratum"]), *(f"{count:,}" for count in counts))
    of_runs = report["kind"] == AuditKind.RUNS
    share_key = "share_right" if of_runs else "precision"
    description = "runs, drawn from {:,}" if of_runs else "annotations, drawn from {:,} that were accepted"
    console.print(
        f"audit {report['audit']}: {report['drawn']:,} {description.format(report['population'])}",
        markup=False,
        soft_wrap=True,
    )
    if remark := _format_removals(report):
        console.print(remark, markup=False, soft_wrap=True)
    if not report["drawn"]:
        return
    console.print(table)
    _print_stratum_shares(console, report["strata"], share_key, "share right" if of_runs else "precision")
    words = "runs that are right" if of_runs else "accepted annotations that are right"
    _print_share(console, words, report, share_key, ("unsure", "disputed"))
    _print_share(console, "unsure and disputed counted as wrong", report, "if_unsure_wrong", ())
    if not report[share_key]:
        console.print(f"nothing is labelled yet. Begin with: lumos audit next {report['audit']}", markup=False)
    elif report["covered"] < 1:
        console.print(
            f"the strata with labels hold {_percent(report['covered'])} of the population: "
            f"the {'share' if of_runs else 'precision'} is for these only",
            markup=False,
            soft_wrap=True,
        )
    if kinds := report["wrong_kinds"]:
        text = ", ".join(f"{kind or 'not named'} {count:,}" for kind, count in kinds.items())
        console.print(f"wrong {report['kind']} by kind of fault: {text}", markup=False, soft_wrap=True)
    if metric := report.get("metric"):
        low, high = metric["ci95"]
        console.print(
            f"the metric agrees with people on {metric['agreed']:,} of {metric['items']:,} runs: "
            f"{_percent(metric['share'])} [95 %: {_percent(low)} to {_percent(high)}] of all; "
            f"{metric['right_for_people_only']:,} are right for people only, {metric['right_for_metric_only']:,} for "
            f"the metric only; {_kappa(metric)}",
            markup=False,
            soft_wrap=True,
        )
    for pair in report["agreement"]:
        labellers, text = " and ".join(pair["labellers"]), _kappa(pair)
        text = f"{text}: {pair['undefined']}" if pair["undefined"] else text
        share = f" ({_percent(pair['share'])})" if pair["items"] else ""
        console.print(
            f"{escape(labellers)} agree on {pair['agreed']} of {pair['items']} items{share}; {text}", soft_wrap=True
        )


def _kappa(agreement: dict[str, Any]) -> str:
    if agreement["kappa"] is None:
        return "kappa is not defined"
    low, high = agreement["kappa_ci95"]
    return f"kappa {agreement['kappa']:.3f} [95 %: {low:.3f} to {high:.3f}]"


def _format_removals(report: dict[str, Any]) -> str:
    """Return a line about the items of the audit that were removed together with their jobs."""
    if not report["gone"]:
        return ""
    if not report["drawn"]:
        return "all of its places were removed together with their jobs"
    return (
        f"at least {report['gone']:,} more of its places were removed together with their jobs; they represented about "
        f"{report['removed']:,} {report['kind']}, which this report does not cover"
    )


def _print_share(console: Any, words: str, report: dict[str, Any], name: str, excluded_labels: tuple[str, ...]) -> None:
    """Print a share with its interval and the number of items that it was computed from."""
    if not (share := report[name]):
        return
    low, high = share["ci95"]
    exclusions = [f"{report[label]:,} {label}" for label in excluded_labels if report[label]]
    exclusions += [f"{report['unlabelled']:,} not labelled"] if report["unlabelled"] else []
    members = report["kind"] if share["judged"] != 1 else report["kind"].removesuffix("s")
    console.print(
        f"{words}: {_percent(share['share'])} [95 %: {_percent(low)} to {_percent(high)}], of "
        f"{share['judged']:,} {members}" + (f"; left out: {', '.join(exclusions)}" if exclusions else ""),
        markup=False,
        soft_wrap=True,
    )


def _print_stratum_shares(console: Any, strata: list[dict[str, Any]], name: str, title: str) -> None:
    """Print the share, interval and number of judged items of each stratum that has judged items."""
    table = _table("stratum", "judged", title, "95 % interval")
    for stratum in strata:
        if share := stratum[name]:
            low, high = share["ci95"]
            interval = f"{_percent(low)} to {_percent(high)}"
            table.add_row(escape(stratum["stratum"]), f"{share['judged']:,}", _percent(share["share"]), interval)
    if table.row_count:
        console.print(table)


def _table(*columns: str) -> Any:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name == "stratum" else "right")
    return table


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
