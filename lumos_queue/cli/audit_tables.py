"""Audits for people: the sample, the next annotation or run to judge, the report."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.cli.trajectory import print_trajectory
from lumos_queue.scoring.sampling import AuditKind

_MEMBERS = {AuditKind.ANNOTATIONS: "accepted annotations", AuditKind.RUNS: "runs"}


def print_draw(found: dict[str, Any]) -> None:
    """The strata of a sample that was just drawn."""
    table = _table("stratum", "population", "drawn", "each stands for")
    for one in found["strata"]:
        table.add_row(escape(one["stratum"]), f"{one['population']:,}", f"{one['drawn']:,}", f"{one['weight']:.2f}")
    console = output.console()
    console.print(table)
    twice = f", {found['labelled_twice']:,} of them to be labelled twice" if found["labelled_twice"] else ""
    console.print(
        f"drawn {found['drawn']:,} of {found['population']:,} {_MEMBERS[found['kind']]}{twice}. "
        f"Begin with: lumos audit next {found['audit']}",
        markup=False,
        soft_wrap=True,
    )


def print_next(found: dict[str, Any]) -> None:
    """The annotation to judge, and the command that labels it."""
    if not found["of"]:
        output.show(f"the audit {found['audit']} has no places left: their jobs were removed")
        return
    if found["place"] is None:
        output.show(f"{found['labeller']} has labelled all {found['of']}. See: lumos audit report {found['audit']}")
        return
    print_trajectory(found["episode"], False)
    output.show(
        f"place {found['place']}; {found['left']} of {found['of']} left to label. Say: "
        f"lumos audit label {found['audit']} {found['place']} right|wrong|unsure"
    )


def print_progress(found: dict[str, Any]) -> None:
    """How much each labeller has left."""
    for who, left in found["left"].items():
        output.show(f"{who}: {left} left" if left else f"{who}: all labelled. See: lumos audit report {found['audit']}")


def print_report(found: dict[str, Any]) -> None:
    """How precise the acceptance check is, by stratum and overall."""
    console = output.console()
    table = _table("stratum", "population", "drawn", "right", "wrong", "unsure", "disputed", "left")
    for one in found["strata"]:
        counts = (one[name] for name in ("population", "drawn", "right", "wrong", "unsure", "disputed", "unlabelled"))
        table.add_row(escape(one["stratum"]), *(f"{count:,}" for count in counts))
    of_runs = found["kind"] == AuditKind.RUNS
    drawn = "runs, drawn from {:,}" if of_runs else "annotations, drawn from {:,} that were accepted"
    console.print(
        f"audit {found['audit']}: {found['drawn']:,} {drawn.format(found['population'])}",
        markup=False,
        soft_wrap=True,
    )
    if gone := _format_gone(found):
        console.print(gone, markup=False, soft_wrap=True)
    if not found["drawn"]:
        return
    console.print(table)
    measured = "share_right" if of_runs else "precision"
    words = "runs that are right" if of_runs else "accepted annotations that are right"
    _print_share(console, words, found, measured, ("unsure", "disputed"))
    _print_share(console, "unsure and disputed counted as wrong", found, "if_unsure_wrong", ())
    if not found[measured]:
        console.print(f"nothing is labelled yet. Begin with: lumos audit next {found['audit']}", markup=False)
    elif found["covered"] < 1:
        console.print(
            f"the strata with labels hold {_percent(found['covered'])} of the population: "
            f"the {'share' if of_runs else 'precision'} is for these only",
            markup=False,
            soft_wrap=True,
        )
    if metric := found.get("metric"):
        low, high = metric["ci95"]
        console.print(
            f"the metric agrees with people on {metric['agreed']:,} of {metric['items']:,} runs: "
            f"{_percent(metric['share'])} [95 %: {_percent(low)} to {_percent(high)}] of all; "
            f"{metric['right_for_people_only']:,} are right for people only, {metric['right_for_metric_only']:,} for "
            f"the metric only; {_kappa(metric)}",
            markup=False,
            soft_wrap=True,
        )
    for pair in found["agreement"]:
        who, told = " and ".join(pair["labellers"]), _kappa(pair)
        told = f"{told}: {pair['undefined']}" if pair["undefined"] else told
        share = f" ({_percent(pair['share'])})" if pair["items"] else ""
        console.print(
            f"{escape(who)} agree on {pair['agreed']} of {pair['items']} items{share}; {told}", soft_wrap=True
        )


def _kappa(found: dict[str, Any]) -> str:
    if found["kappa"] is None:
        return "kappa is not defined"
    low, high = found["kappa_ci95"]
    return f"kappa {found['kappa']:.3f} [95 %: {low:.3f} to {high:.3f}]"


def _format_gone(found: dict[str, Any]) -> str:
    """How much of the audit was removed together with its jobs."""
    if not found["gone"]:
        return ""
    if not found["drawn"]:
        return "all of its places were removed together with their jobs"
    return (
        f"at least {found['gone']:,} more of its places were removed together with their jobs; they represented about "
        f"{found['removed']:,} {found['kind']}, which this report does not cover"
    )


def _print_share(console: Any, words: str, found: dict[str, Any], name: str, left_out: tuple[str, ...]) -> None:
    """A share with its interval, and the number of annotations it was computed from."""
    if not (share := found[name]):
        return
    low, high = share["ci95"]
    others = [f"{found[said]:,} {said}" for said in left_out if found[said]]
    others += [f"{found['unlabelled']:,} not labelled"] if found["unlabelled"] else []
    members = found["kind"] if share["judged"] != 1 else found["kind"].removesuffix("s")
    console.print(
        f"{words}: {_percent(share['share'])} [95 %: {_percent(low)} to {_percent(high)}], of "
        f"{share['judged']:,} {members}" + (f"; left out: {', '.join(others)}" if others else ""),
        markup=False,
        soft_wrap=True,
    )


def _table(*columns: str) -> Any:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name == "stratum" else "right")
    return table


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
