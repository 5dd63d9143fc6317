"""Which stored evaluation stands for a published figure: the same benchmark and formulation, by the named weights.

Weights, and the models behind tools, are named by the last part of what an endpoint says its model is. Where no
evaluation by the named weights is stored, one by others of the same benchmark, split and formulation is shown in their
place, and is said to be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.endpoints.roles import JUDGE, TOOL_ROLES
from lumos_queue.papers.model import PaperColumn, PaperRow
from lumos_queue.papers.protocol import departures

#: What may follow a tool model's name: its date (`-0613`, `-2024-05-13`), or the name of a file format.
_SUFFIX = re.compile(r"(?:-(?:\d{4}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}))?(?:-hf)?")


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """A stored job and the models that its endpoints said they were, by role."""

    job: Any  #: its row
    models: Mapping[str, str]

    @property
    def infer(self) -> Mapping[str, Any]:
        return self.job.spec["infer"]

    @property
    def tools(self) -> dict[str, str]:
        """The tool set: options of the domain's actions, and the models behind them."""
        models = {role: model for role, model in self.models.items() if role in TOOL_ROLES}
        live = {name: str(self.infer[name]) for name in ("live", "replay") if self.infer.get(name)}
        return dict(self.infer["agent"].get("tools", {})) | models | live

    @property
    def size(self) -> str:
        """The number of tasks in words, as Column.size has it: of sets only where all of them were tried."""
        tasks, limit = self.job.items // self.infer.get("samples", 1), self.infer.get("limit", 0)
        whole = not 0 < limit <= tasks
        draw = self.infer.get("draw", 0)
        return f"{draw:,} × {self.infer.get('sets', 1)}" if draw and whole else f"{tasks:,}"

    def departures(self, column: PaperColumn) -> list[str]:
        """In which settings the job departs from the papers', in words."""
        return departures(column, self.job.formulation, self.infer)


def stored_evaluations(jobs: Iterable[Any], endpoints: Iterable[Any]) -> list[StoredEvaluation]:
    """The jobs, in their order, with what their endpoints said last. `endpoints` are rows of job_endpoint, in order."""
    models: dict[str, dict[str, str]] = {}
    for one in endpoints:
        models.setdefault(one.job, {})[one.role] = model_of(one.identity)
    return [StoredEvaluation(job, models.get(job.id, {})) for job in jobs]


def model_of(identity: Mapping[str, Any]) -> str:
    """The model that an endpoint says it is; all of them where replicas differ, nothing where it does not say."""
    named = identity.get("model_id") or identity.get("model") or ""
    return ", ".join(map(str, named)) if isinstance(named, list) else str(named)


def is_weights(model: str, name: str) -> bool:
    """Whether a model's name is that of the weights, with or without the owner or folder before it."""
    return all(one.lower() == name.lower() for one in _names(model))


def is_tool(model: str, name: str) -> bool:
    """Whether a model's name is the paper's, or a dated one: `gpt-4-0613` is `gpt-4`, `gpt-4o-mini` is another."""
    plain = _plain(name)
    return all(one.startswith(plain) and _SUFFIX.fullmatch(one, len(plain)) for one in map(_plain, _names(model)))


def _names(model: str) -> list[str]:
    """The name without owner or folder; of replicas that differ, each of them."""
    return [re.split(r"[/\\]", one)[-1] for one in model.split(", ")]


def _plain(name: str) -> str:
    """However it is punctuated: `LLaVA-v1.5-7B` is `llava-1.5-7b`, `gpt-35-turbo` is `gpt-3.5-turbo`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.|(?<![a-z0-9])v(?=\d)", "", name.lower()))


def weight_mismatches(row: PaperRow, models: Mapping[str, str]) -> list[str]:
    """What is played by other models than the row's, in words. Everything, where the row's weights have no name."""
    weights = row.needed_weights()
    if not weights:
        return ["weights that were never released"]
    wrong = [
        f"{role} is {models.get(role) or 'unknown'}, not {name}"
        for role, name in weights.items()
        if not is_weights(models.get(role, ""), name)
    ]
    wrong += [
        f"{role} is {models.get(role) or 'unknown'}, not {name}"
        for role, name in row.tools.items()
        if not is_tool(models.get(role, ""), name)
    ]
    return wrong


def other_judge(column: PaperColumn, models: Mapping[str, str]) -> list[str]:
    """Where votes are counted: who judged instead of the papers' judge, in words."""
    if not column.judge or is_tool(models.get(JUDGE, ""), column.judge):
        return []
    return [f"judge is {models.get(JUDGE) or 'unknown'}, not {column.judge}"]


def find_best(row: PaperRow, column: PaperColumn, found: Iterable[StoredEvaluation]) -> StoredEvaluation | None:
    """The evaluation that stands for the figure, of candidates from the newest to the oldest.

    By the named weights before others, with votes of a judge where they are counted, over as many tasks as the papers',
    with the fewest departures from their settings and judge, the newest.
    """
    if row.quoted:
        return None
    fitting = [
        one
        for one in found
        if one.job.benchmark == column.benchmark
        and one.job.split == column.split
        and one.job.formulation == row.formulation
        # How rows were chosen is not stored with a job; so many and no others means that they were chosen like this.
        and (not column.options or one.size == column.size)
        and set(column.tools) <= set(one.tools)
    ]

    def rank(one: StoredEvaluation) -> tuple[bool, bool, bool, int]:
        return (
            bool(weight_mismatches(row, one.models)),
            bool(column.judge) and JUDGE not in one.models,
            bool(column.size) and one.size != column.size,
            len(other_judge(column, one.models) + one.departures(column)),
        )

    return min(fitting, key=rank, default=None)
