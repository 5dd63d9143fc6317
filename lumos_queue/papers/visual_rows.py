"""The rows of Sum2Act's cases with image experts: what the newest evaluation has of each, or what it needs, as JSON.

The paper shows the cases and measures nothing: nothing here is compared with a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection

from db.reading import keyed_tasks, values_by_metric
from db.states import JobState
from lumos_queue.actions.experts.options import ALL, DEFAULT
from lumos_queue.benchmarks.sum2act_visual.cases import CONDITIONED, DISH, NAME, RECOLOUR, WEBCAM
from lumos_queue.experts.backends.base import Fidelity
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.scoring.statistics import weighted_interval

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
Row = dict[str, Any]


def visual_rows(connection: Connection | None, found: Sequence[StoredEvaluation]) -> list[Row]:
    """A row for each case.

    `found`: the stored evaluations on the published rows, the newest first; one that has ended goes before others.
    """
    fitting = [one for one in found if one.job.benchmark == NAME and one.job.formulation == FORMULATION]
    best = min(fitting, key=_is_unfinished, default=None)
    values = _values_by_case(connection, best.job.id) if connection is not None and best is not None else {}
    return [_row(case, best, values.get(case, ())) for case in PAPER_MODELS]


def _values_by_case(connection: Connection, job: str) -> dict[str, list[tuple[int, float, float]]]:
    """Case to (task, value, weight) of each judged episode."""
    tasks = keyed_tasks(connection, job)
    found: dict[str, list[tuple[int, float, float]]] = {}
    for task, value, _ in values_by_metric(connection, job).get(METRIC, ()):
        found.setdefault(tasks[task].gold["case"], []).append((task, value, 1.0))
    return found


def _row(case: str, best: StoredEvaluation | None, values: Sequence[tuple[int, float, float]]) -> Row:
    blank: Row = {
        "row": case,
        "benchmark": NAME,
        "metric": METRIC,
        "column": "case",
        "published": "qualitative",
        "source": "[P]",
    }
    interval = weighted_interval(values)
    if best is None or interval is None:
        return blank | {"status": f"not run: needs {_COMMAND} (the paper's experts: {PAPER_MODELS[case]})"}
    value, low, high = (round(100 * one, 2) for one in interval)
    ours = {
        "value": value,
        "ci95": [low, high],
        "n": f"{len(values):,}",
        "job": best.job.id,
        "rows": best.rows.text,
        "tools": best.tools,
        "models": dict(best.models),
    }
    told = [*(["incomplete"] if _is_unfinished(best) else []), *best.remarks_on_rows]
    told.append(f"experts: {_tell_experts(best.tools)}")
    told.append(f"router: {best.models.get('router') or 'unknown'}")
    return blank | {"ours": ours, "status": "; ".join(told)}


def _tell_experts(tools: Mapping[str, str]) -> str:
    """What ran the experts, and that none of it is the paper's: 'own (substitute)'."""
    chosen = [tools.get(ALL, DEFAULT)]
    chosen += [f"{name}={value}" for name, value in tools.items() if name != ALL and ":" in value]
    oracle = any(one.rpartition("=")[2].rstrip(":") == Fidelity.ORACLE for one in chosen)
    return f"{', '.join(chosen)} ({Fidelity.ORACLE if oracle else Fidelity.SUBSTITUTE})"


def _is_unfinished(found: StoredEvaluation) -> bool:
    return found.job.state != JobState.DONE
