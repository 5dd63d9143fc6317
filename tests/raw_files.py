"""Raw annotation files as the original's conversion writes them: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from lumos_queue.compat.raw_annotations import RawAnnotation


def raw_line(row: RawAnnotation) -> str:
    plan = row.natural_language_plan
    fields = {
        "task": row.task,
        "natural_language_plan": list(plan) if isinstance(plan, tuple) else plan,
        "subgoal_plan": row.subgoal_plan,
    }
    return json.dumps(fields if row.ans is None else fields | {"ans": row.ans})


def write_raw(rows: Iterable[RawAnnotation], path: Path) -> None:
    path.write_text("".join(f"{raw_line(row)}\n" for row in rows), encoding="utf-8")
