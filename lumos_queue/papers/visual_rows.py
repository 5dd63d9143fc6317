"""The rows of Sum2Act's cases with image experts: the newest evaluation of each case, or what it would need.

The paper has no figures for these cases, so the rows compare nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from db.engine.connection import Connection
from db.kinds.states import JobState
from db.queries.results import values_by_metric
from db.queries.tasks import load_keyed_tasks
from lumos_queue.actions.experts.options import ALL, DEFAULT
from lumos_queue.benchmarks.sum2act_visual.cases import CONDITIONED, DISH, NAME, RECOLOUR, WEBCAM
from lumos_queue.experts.backends.base import Fidelity
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.papers.table_values import ExpertFigure, TableRow
from lumos_queue.records import Role
from lumos_queue.scoring.statistics import compute_weighted_interval

VISUAL, VISUAL_TITLE = "sum2act-visual", "Cases with image experts"
FORMULATION, METRIC = "sum2act", "success"
#: The cases, and the paper's models that each needs.
PAPER_MODELS: Mapping[str, str] = MappingProxyType(
    {
        CONDITIONED: "ControlNet",
        RECOLOUR: "BLIP for questions about images, InstructPix2Pix for edits",
        WEBCAM: "style transfer",
        DISH: "SDXL, from text to image",
    }
)
_COMMAND = (
    f"lumos evaluate {NAME} --split test --formulation {FORMULATION} --role router=URL --role state_manager=URL "
    "--tool experts=own"
)


def visual_rows(connection: Connection | None, evaluations: Sequence[StoredEvaluation]) -> list[TableRow]:
    """Return a row for each case, from the best evaluation: complete if possible, and the newest.

    `evaluations`: the evaluations on the published rows, the newest first.
    """
    candidates = [
        evaluation
        for evaluation in evaluations
        if evaluation.job.benchmark == NAME and evaluation.job.formulation == FORMULATION
    ]
    best = min(candidates, key=_is_unfinished, default=None)
    values = _values_by_case(connection, best.job.id) if connection is not None and best is not None else {}
    return [_row(case, best, values.get(case, ())) for case in PAPER_MODELS]


def _values_by_case(connection: Connection, job: str) -> dict[str, list[tuple[int, float, float]]]:
    """Return by case a list with (task, value, weight) of each judged episode."""
    tasks = load_keyed_tasks(connection, job)
    by_case: dict[str, list[tuple[int, float, float]]] = {}
    for task, value, _ in values_by_metric(connection, job).get(METRIC, ()):
        by_case.setdefault(tasks[task].gold["case"], []).append((task, value, 1.0))
    return by_case


def _row(case: str, best: StoredEvaluation | None, values: Sequence[tuple[int, float, float]]) -> TableRow:
    blank = TableRow(row=case, benchmark=NAME, metric=METRIC, column="case", published="qualitative", source="[P]")
    interval = compute_weighted_interval(values)
    if best is None or interval is None:
        return replace(blank, status=f"not run: needs {_COMMAND} (the paper's experts: {PAPER_MODELS[case]})")
    value, low, high = (round(100 * bound, 2) for bound in interval)
    own_figure = ExpertFigure(
        value=value,
        ci95=(low, high),
        n=f"{len(values):,}",
        job=best.job.id,
        rows=best.rows.text,
        tools=best.tools,
        models=best.models,
    )
    remarks = [*(["incomplete"] if _is_unfinished(best) else []), *best.remarks_on_rows]
    remarks.append(f"experts: {_format_experts(best.tools)}")
    remarks.append(f"router: {best.models.get(Role.ROUTER) or 'unknown'}")
    return replace(blank, ours=own_figure, status="; ".join(remarks))


def _format_experts(tools: Mapping[str, str]) -> str:
    """Return the backends of the experts with a mark that they are not the paper's, such as 'own (substitute)'."""
    experts = [tools.get(ALL, DEFAULT)]
    experts += [f"{name}={value}" for name, value in tools.items() if name != ALL and ":" in value]
    oracle = any(expert.rpartition("=")[2].rstrip(":") == Fidelity.ORACLE for expert in experts)
    return f"{', '.join(experts)} ({Fidelity.ORACLE if oracle else Fidelity.SUBSTITUTE})"


def _is_unfinished(evaluation: StoredEvaluation) -> bool:
    return evaluation.job.state != JobState.DONE
