"""The list of models, and the facts of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.pages.blocks import Table
from lumos_queue.util.wording import format_bytes, format_loss, format_time

_FILES = {"present": "", "changed": " (its content has changed)", "missing": " (it is missing)"}
_SHORT = 12  #: characters of a digest


def tabulate_models(models: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a row for each model."""
    rows = [
        [
            model["name"],
            model["kind"],
            model["digest"][:_SHORT],
            format_bytes(model["bytes"]),
            model["job"] or "",
            format_time(model["created_at"]),
        ]
        for model in models
    ]
    heads = ["name", "kind", "digest", "size", "job", "written"]
    return Table("", heads, rows, texts=frozenset({0, 1, 2, 4, 5}), ranks=(0, 2, 4, 3, 1, 5))


def tabulate_model(model: Mapping[str, Any]) -> Table:
    """Return a table of the facts of a model: its sources, the curves of its loss and its folder."""
    rows = [
        ["model", model["name"]],
        ["kind", model["kind"]],
        ["digest", model["digest"]],
        ["size", format_bytes(model["bytes"])],
        ["folder", model["path"] + _FILES[model["files"]]],
        ["made from", " ← ".join(map(_format_base, model["lineage"])) or "random weights"],
        ["builds", ", ".join(map(str, model["builds"] or ()))],
        ["job", model["job"] or ""],
        ["start of", ", ".join(model["start_of"])],
        *([f"fit {fit['fit']}".strip(), format_curve(fit)] for fit in model["fits"]),
    ]
    return Table("", ["fact", "value"], [row for row in rows if row[1]], texts=frozenset({0, 1}))


def format_curve(fit: Mapping[str, Any]) -> str:
    """Return a line about a fit of `training_steps.summarize_fits`: losses, steps, tokens and any `dev_loss`."""
    parts = [
        f"loss {format_loss(fit['first_loss'])} → {format_loss(fit['last_loss'])} over {fit['steps']:,} steps",
        f"{fit['tokens']:,} tokens",
    ]
    if fit.get("dev_loss") is not None:
        parts.append(f"dev loss {format_loss(fit['dev_loss'])}")
    return ", ".join(parts)


def _format_base(base: Mapping[str, Any]) -> str:
    return f"{base['name']} ({base['digest'][:_SHORT]})" if "name" in base else base["digest"][:_SHORT]
