"""The list of models, and the facts of a model."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.pages.blocks import Table
from lumos_queue.reports.stored_models import ListedModel, ModelBase, ModelDetails, StoredBase
from lumos_queue.reports.training import FitFigures
from lumos_queue.util.wording import format_bytes, format_loss, format_time

_FILES = {"present": "", "changed": " (its content has changed)", "missing": " (it is missing)"}
_SHORT = 12  #: characters of a digest


def tabulate_models(models: Sequence[ListedModel]) -> Table:
    """Return a table with a row for each model."""
    rows = [
        [
            model.name,
            model.kind,
            model.digest[:_SHORT],
            format_bytes(model.bytes),
            model.job or "",
            format_time(model.created_at),
        ]
        for model in models
    ]
    heads = ["name", "kind", "digest", "size", "job", "written"]
    return Table("", heads, rows, texts=frozenset({0, 1, 2, 4, 5}), ranks=(0, 2, 4, 3, 1, 5))


def tabulate_model(details: ModelDetails) -> Table:
    """Return a table of the facts of a model: its sources, the curves of its loss and its folder."""
    model = details.model
    rows = [
        ["model", model.name],
        ["kind", model.kind],
        ["digest", model.digest],
        ["size", format_bytes(model.bytes)],
        ["folder", model.path + _FILES[details.files]],
        ["made from", " ← ".join(map(_format_base, details.lineage)) or "random weights"],
        ["builds", ", ".join(map(str, model.builds or ()))],
        ["job", model.job or ""],
        ["start of", ", ".join(details.start_of)],
        *([f"fit {fit.fit}".strip(), format_curve(fit)] for fit in details.fits),
    ]
    return Table("", ["fact", "value"], [row for row in rows if row[1]], texts=frozenset({0, 1}))


def format_curve(fit: FitFigures) -> str:
    """Return a line about a fit: losses, steps, tokens and any `dev_loss`."""
    parts = [
        f"loss {format_loss(fit.first_loss)} → {format_loss(fit.last_loss)} over {fit.steps:,} steps",
        f"{fit.tokens:,} tokens",
    ]
    if fit.dev_loss is not None:
        parts.append(f"dev loss {format_loss(fit.dev_loss)}")
    return ", ".join(parts)


def _format_base(base: ModelBase) -> str:
    digest = base.digest[:_SHORT]
    return f"{base.name} ({digest})" if isinstance(base, StoredBase) else digest
