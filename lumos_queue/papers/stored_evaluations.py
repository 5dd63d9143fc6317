"""Find the stored evaluation to display beside a published figure, with the same benchmark, formulation and weights.

The name of weights, or of a model behind a tool, is compared with the last part of the model name that an endpoint
reports. If no stored evaluation used the named weights, an evaluation with the same benchmark, split and formulation
but other weights is displayed with a remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from db.queue.stored_jobs import StoredJob
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.papers.model import PaperColumn, PaperRow
from lumos_queue.papers.protocol import departures
from lumos_queue.records import Role
from lumos_queue.row_origins.origins import STATED_REMARK, UNVERIFIED, RowOrigin, RowState

#: What may follow a tool model's name: its date (`-0613`, `-2024-05-13`), or the name of a file format.
_SUFFIX = re.compile(r"(?:-(?:\d{4}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}))?(?:-hf)?")


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """A stored job with the models that its endpoints reported, by role."""

    job: StoredJob
    models: Mapping[str, str]
    rows: RowOrigin = UNVERIFIED  #: the origin of its rows

    @property
    def infer(self) -> Mapping[str, Any]:
        return self.job.spec["infer"]

    @property
    def tools(self) -> dict[str, str]:
        """The settings of the domain's actions by name, and the models behind these actions by role."""
        models = {role: model for role, model in self.models.items() if role in TOOL_ROLES}
        live = {name: str(self.infer[name]) for name in ("live", "replay") if self.infer.get(name)}
        return dict(self.infer["agent"].get("tools", {})) | models | live

    @property
    def size(self) -> str:
        """The number of tasks in the form of PaperColumn.size; as sample sets only if all of their tasks were run."""
        tasks, limit = self.job.items // self.infer.get("samples", 1), self.infer.get("limit", 0)
        whole = not 0 < limit <= tasks
        draw = self.infer.get("draw", 0)
        return f"{draw:,} × {self.infer.get('sets', 1)}" if draw and whole else f"{tasks:,}"

    @property
    def remarks_on_rows(self) -> list[str]:
        """The remarks on the job's rows that are displayed beside a published figure."""
        return [STATED_REMARK] if self.rows.state == RowState.STATED else []

    def departures(self, column: PaperColumn) -> list[str]:
        """Return a text for each setting in which the job differs from the papers."""
        return departures(column, self.job.formulation, self.infer)


def load_stored_evaluations(
    jobs: Iterable[StoredJob], endpoints: Iterable[Any], origins: Mapping[str, RowOrigin] = MappingProxyType({})
) -> list[StoredEvaluation]:
    """Return the jobs in their order, with the models of their endpoints (rows of job_endpoint; the latest of a role).

    `origins`: the origin of the rows of each job (row_origins/origins.py); rows of other jobs count as unverified.
    Jobs on selected tasks of another job are left out, because their mean is not an accuracy on the benchmark, and
    so are jobs with a damaged request.
    """
    models: dict[str, dict[str, str]] = {}
    for endpoint in endpoints:
        models.setdefault(endpoint.job, {})[endpoint.role] = model_of(endpoint.identity)
    return [
        StoredEvaluation(job, models.get(job.id, {}), origins.get(job.id, UNVERIFIED))
        for job in jobs
        if not job.chosen and "agent" in job.spec.get("infer", {})
    ]


def model_of(identity: Mapping[str, Any]) -> str:
    """Return the name of the model that an endpoint reports: several names if replicas differ, '' if it has none."""
    names = identity.get("model_id") or identity.get("model") or ""
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def is_weights(model: str, name: str) -> bool:
    """Whether a model has the name `name` of weights, with or without an owner or a folder in front of it."""
    return all(model_name.lower() == name.lower() for model_name in _names(model))


def is_tool(model: str, name: str) -> bool:
    """Whether a model is `name` or a dated version of it: `gpt-4-0613` is `gpt-4`, but `gpt-4o-mini` is not."""
    plain = _normalize(name)
    return all(
        model_name.startswith(plain) and _SUFFIX.fullmatch(model_name, len(plain))
        for model_name in map(_normalize, _names(model))
    )


def _names(model: str) -> list[str]:
    """Return the names of a model without owner or folder; several if replicas differ."""
    return [re.split(r"[/\\]", path)[-1] for path in model.split(", ")]


def _normalize(name: str) -> str:
    """Normalise the punctuation of a name: `LLaVA-v1.5-7B` is `llava-1.5-7b`, `gpt-35-turbo` is `gpt-3.5-turbo`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.|(?<![a-z0-9])v(?=\d)", "", name.lower()))


def weight_mismatches(row: PaperRow, models: Mapping[str, str]) -> list[str]:
    """Return a text for each role whose model is not that of the row. If its weights have no name, return one text."""
    weights = row.list_needed_weights()
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
    """Return a text about the judge if the metric counts votes and the judge is not the papers' judge, else []."""
    if not column.judge or is_tool(models.get(Role.JUDGE, ""), column.judge):
        return []
    return [f"judge is {models.get(Role.JUDGE) or 'unknown'}, not {column.judge}"]


def on_published_rows(evaluations: Iterable[StoredEvaluation]) -> list[StoredEvaluation]:
    """Return the evaluations on the published rows. Only their figures are comparable to those of papers."""
    return [evaluation for evaluation in evaluations if evaluation.rows.counts]


def remark_on_unverified(row: PaperRow, column: PaperColumn, evaluations: Iterable[StoredEvaluation]) -> str:
    """Return a remark on the best evaluation with unverified rows; '' if there is no such evaluation."""
    unverified_evaluations = [evaluation for evaluation in evaluations if evaluation.rows.state == RowState.UNVERIFIED]
    best = _find_closest(row, column, unverified_evaluations)
    if best is None:
        return ""
    return f"the rows of job {best.job.id} are not verified (--published states that they are the published ones)"


def find_best(row: PaperRow, column: PaperColumn, evaluations: Iterable[StoredEvaluation]) -> StoredEvaluation | None:
    """Return the best evaluation for the figure. `evaluations`: from the newest to the oldest.

    Only evaluations on the published rows are considered. The criteria are, in this order: the named weights, votes of
    a judge if the metric counts them, the papers' number of tasks, few differences in settings and judge, and the age.
    """
    return None if row.quoted else _find_closest(row, column, on_published_rows(evaluations))


def _find_closest(
    row: PaperRow, column: PaperColumn, evaluations: Iterable[StoredEvaluation]
) -> StoredEvaluation | None:
    candidates = [
        evaluation
        for evaluation in evaluations
        if evaluation.job.benchmark == column.benchmark
        and evaluation.job.split == column.split
        and evaluation.job.formulation == row.formulation
        # A job does not store the options of its rows: the same number of rows is evidence of the same options.
        and (not column.options or evaluation.size == column.size)
        and set(column.tools) <= set(evaluation.tools)
    ]

    def rank(evaluation: StoredEvaluation) -> tuple[bool, bool, bool, int]:
        return (
            bool(weight_mismatches(row, evaluation.models)),
            bool(column.judge) and Role.JUDGE not in evaluation.models,
            bool(column.size) and evaluation.size != column.size,
            len(other_judge(column, evaluation.models) + evaluation.departures(column)),
        )

    return min(candidates, key=rank, default=None)
