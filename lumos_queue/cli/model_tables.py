"""Print models and training curves as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape


def print_models(models: list[dict[str, Any]]) -> None:
    """Print the list of models."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("name", "kind", "digest", "size", "job", "written (UTC)"):
        table.add_column(name, justify="right" if name == "size" else "left", no_wrap=name in ("digest", "job"))
    for model in models:
        when = datetime.fromtimestamp(model["created_at"], UTC).strftime("%m-%d %H:%M")
        cells = (model["name"], model["kind"], model["digest"][:12], _format_size(model["bytes"]), model["job"], when)
        table.add_row(*(escape(cell or "") for cell in cells))
    output.console().print(table)


def print_model(model: dict[str, Any]) -> None:
    """Print a model: its sources, its curve and its folder."""
    grid = Table.grid(padding=(0, 2))
    remarks = {"present": "", "changed": "  (holds something else now)", "missing": "  (is not there any more)"}
    rows = [
        ("model", model["name"]),
        ("kind", model["kind"]),
        ("digest", model["digest"]),
        ("size", _format_size(model["bytes"])),
        ("folder", model["path"] + remarks[model["files"]]),
        ("made from", " ← ".join(map(_format_base, model["lineage"])) or "random weights"),
        ("builds", ", ".join(map(str, model["builds"] or ()))),
        ("job", model["job"] or ""),
        ("start of", ", ".join(model["start_of"])),
        *((f"fit {fit['fit']}".strip(), format_curve(fit)) for fit in model["fits"]),
    ]
    for name, value in rows:
        if value:
            grid.add_row(f"[dim]{name}[/]", escape(value))
    output.console().print(grid)


def format_curve(fit: Mapping[str, Any]) -> str:
    """Return a line about a fit of `training_steps.summarize_fits`: losses, steps, tokens and any `dev_loss`."""
    parts = [
        f"loss {_format_loss(fit['first_loss'])} → {_format_loss(fit['last_loss'])} over {fit['steps']:,} steps",
        f"{fit['tokens']:,} tokens",
    ]
    if fit.get("dev_loss") is not None:
        parts.append(f"dev loss {_format_loss(fit['dev_loss'])}")
    return ", ".join(parts)


def print_curves(fits: Iterable[Mapping[str, Any]]) -> None:
    """Print a line for each fit of a training job's report."""
    for fit in fits:
        name = f"{fit['fit']}: " if fit["fit"] else ""
        output.console().print(escape(f"  {name}{format_curve(fit)}"), soft_wrap=True)


def _format_loss(loss: Any) -> str:
    return f"{loss:.2f}" if isinstance(loss, int | float) else "not a number"


def _format_base(base: Mapping[str, Any]) -> str:
    return f"{base['name']} ({base['digest'][:12]})" if "name" in base else base["digest"][:12]


def _format_size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
