"""Commands about audits: draw a sample of accepted annotations, label it, and say how far the check can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

app = typer.Typer(rich_markup_mode=None, help="How far the acceptance check can be trusted: people judge a sample.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the audit.")]
As = Annotated[str, typer.Option("--as", help="Who labels; default: LUMOS_USER, or user@host.")]


@app.command()
def draw(
    name: Name,
    where: Annotated[str, typer.Option(help="Which accepted annotations, as for lumos episodes.")] = "",
    size: Annotated[int, typer.Option(min=1, max=100_000, help="How many to draw.")] = 100,
    seed: opt.Seed = 0,
    json: opt.Json = False,
) -> None:
    """Draw a stratified sample (benchmark, level, number of subgoals) of accepted annotations."""
    from collections import Counter

    from db.audits import draw_audit
    from db.filters import parse_where
    from lumos_queue.cli.run import database
    from lumos_queue.settings import read_settings

    wanted = parse_where(where)
    with database(read_settings()) as opened:
        drawn = draw_audit(opened, name, wanted, size, seed)
    counts = Counter(one.stratum for one in drawn)
    weights = {one.stratum: one.weight for one in drawn}
    strata = [
        {"stratum": one, "population": round(weights[one] * count), "drawn": count, "weight": weights[one]}
        for one, count in sorted(counts.items())
    ]
    found = {"audit": name, "population": sum(one["population"] for one in strata), "drawn": len(drawn),
             "seed": seed, "strata": strata}  # fmt: skip
    output.result(found, _print_drawn)


@app.command(name="next")
def next_(name: Name, who: As = "", json: opt.Json = False) -> None:
    """Show the next annotation that the labeller has not judged."""
    from db.audits import get_audit, next_of, samples_of
    from db.named import trajectory_of
    from lumos_queue.cli.run import database
    from lumos_queue.cli.trajectory import trajectory_as_json
    from lumos_queue.settings import read_settings

    settings = read_settings()
    who = who or settings.user
    with database(settings) as opened, opened.engine.connect() as connection:
        samples = samples_of(connection, get_audit(connection, name).name)
        one = next_of(samples, who)
        left = sum(who not in sampled.labels for sampled in samples)
        shown = trajectory_as_json(trajectory_of(connection, one.episode)) if one else None
    found = {"audit": name, "labeller": who, "place": one.place if one else None, "of": len(samples), "left": left,
             "episode": shown}  # fmt: skip
    output.result(found, _print_next)


@app.command()
def label(
    name: Name,
    place: Annotated[int, typer.Argument(min=0, max=opt.MOST, help="As lumos audit next says.")] = 0,
    value: Annotated[str, typer.Argument(help="right, wrong or unsure.")] = "",
    note: Annotated[str, typer.Option(help="Why, for those who read it later.")] = "",
    who: As = "",
    file: Annotated[Path | None, typer.Option("--from", help="Labels from a file: JSON lines, or .csv.")] = None,
    json: opt.Json = False,
) -> None:
    """Say that the annotation at a place is right or wrong; the newest label of a person counts."""
    from db.audits import get_audit, samples_of
    from db.labels import NewLabel, add_labels, check
    from lumos_queue.cli.run import database
    from lumos_queue.errors import SpecError
    from lumos_queue.labelling import read_labels
    from lumos_queue.settings import read_settings

    settings = read_settings()
    who = who or settings.user
    if bool(file) == bool(place) or bool(file) == bool(value):
        raise SpecError(
            "Give a place and right, wrong or unsure, or a file of them: lumos audit label NAME --from FILE"
        )
    if not file:
        check(value, who)
    with database(settings) as opened:
        with opened.engine.connect() as connection:
            samples = samples_of(connection, get_audit(connection, name).name)
        if file:
            labels = read_labels(file, name, samples, who)
        else:
            episodes = {one.place: one.episode for one in samples}
            if place not in episodes:
                raise SpecError(f"The audit '{name}' has no place {place}: its places are {_places(list(episodes))}.")
            labels = [NewLabel(episodes[place], value, who, note, audit=name)]
        add_labels(opened, labels)
        with opened.engine.connect() as connection:
            samples = samples_of(connection, name)
    people = sorted({one.labeller for one in labels})
    left = {one: sum(one not in sampled.labels for sampled in samples) for one in people}
    output.result({"audit": name, "labelled": len(labels), "left": left}, _print_labelled)


@app.command()
def report(
    name: Name,
    who: Annotated[str, typer.Option("--as", help="By this labeller's labels alone.")] = "",
    json: opt.Json = False,
) -> None:
    """The precision of the acceptance check with its 95 % interval, and the agreement of labellers."""
    from db.audits import get_audit, samples_of
    from lumos_queue.cli.run import database
    from lumos_queue.errors import unknown
    from lumos_queue.reports.audit import make_audit_report
    from lumos_queue.settings import read_settings

    with database(read_settings()) as opened, opened.engine.connect() as connection:
        audit = get_audit(connection, name)
        samples = samples_of(connection, audit.name)
    found = make_audit_report(audit, samples, who)
    if who and who not in found["labellers"]:
        raise unknown("labeller", who, found["labellers"])
    output.result(found, _print_report)


def _places(places: list[int]) -> str:
    return f"{min(places)} to {max(places)}" if places else "gone with their jobs"


def _print_drawn(found: dict[str, Any]) -> None:
    table = _table("stratum", "population", "drawn", "each stands for")
    for one in found["strata"]:
        table.add_row(_safe(one["stratum"]), f"{one['population']:,}", f"{one['drawn']:,}", f"{one['weight']:.2f}")
    console = output.console()
    console.print(table)
    console.print(f"drawn {found['drawn']:,} of {found['population']:,}. Begin with: lumos audit next {found['audit']}",
                  markup=False, soft_wrap=True)  # fmt: skip


def _print_next(found: dict[str, Any]) -> None:
    from lumos_queue.cli.trajectory import print_trajectory

    if found["place"] is None:
        print(f"{found['labeller']} has labelled all {found['of']}. See: lumos audit report {found['audit']}")
        return
    print_trajectory(found["episode"], False)
    print(f"place {found['place']} of {found['of']}, {found['left']} left. Say: "
          f"lumos audit label {found['audit']} {found['place']} right|wrong|unsure")  # fmt: skip


def _print_labelled(found: dict[str, Any]) -> None:
    for who, left in found["left"].items():
        print(f"{who}: {left} left" if left else f"{who}: all labelled. See: lumos audit report {found['audit']}")


def _print_report(found: dict[str, Any]) -> None:
    console = output.console()
    table = _table("stratum", "population", "drawn", "right", "wrong", "unsure", "disputed", "unlabelled")
    for one in found["strata"]:
        counts = (one[name] for name in ("population", "drawn", "right", "wrong", "unsure", "disputed", "unlabelled"))
        table.add_row(_safe(one["stratum"]), *(f"{count:,}" for count in counts))
    console.print(f"audit {found['audit']}: {found['drawn']:,} of {found['population']:,}", markup=False)
    console.print(table)
    for name, words in (("precision", "accepted annotations that are right"),
                        ("if_unsure_wrong", "unsure and disputed counted as wrong")):  # fmt: skip
        if share := found[name]:
            low, high = share["ci95"]
            console.print(f"{words}: {_percent(share['share'])} [95 %: {_percent(low)} to {_percent(high)}], "
                          f"{share['judged']:,} judged", markup=False, soft_wrap=True)  # fmt: skip
    if not found["precision"]:
        console.print(f"nothing is judged yet. Begin with: lumos audit next {found['audit']}", markup=False)
    elif found["covered"] < 1:
        console.print(f"the strata with a judgement hold {_percent(found['covered'])} of the population: "
                      "the precision is of these", markup=False, soft_wrap=True)  # fmt: skip
    for pair in found["agreement"]:
        who, told = " and ".join(pair["labellers"]), "kappa is not defined"
        told = f"{told}: {pair['undefined']}" if pair["undefined"] else f"kappa {pair['kappa']:.3f}"
        share = f" ({_percent(pair['share'])})" if pair["items"] else ""
        console.print(f"{_safe(who)} agree on {pair['agreed']} of {pair['items']} items{share}; {told}", soft_wrap=True)


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in columns:
        table.add_column(name, justify="left" if name == "stratum" else "right")
    return table


def _safe(text: str) -> str:
    from lumos_queue.cli.tables import escape

    return escape(text)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
