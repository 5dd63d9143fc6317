"""Writes files of raw annotations, as the original's conversion does; lumos_queue/compat/raw.py reads them."""

from __future__ import annotations

import json

from lumos_queue.compat.raw import RawAnnotation


def write_raw(rows, path):
    """One JSON object per line; returns how many."""
    lines = [raw_json(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def raw_json(annotation: RawAnnotation) -> str:
    """One row of a raw annotation file."""
    plan = annotation.natural_language_plan
    row = {
        "task": annotation.task,
        "natural_language_plan": list(plan) if isinstance(plan, tuple) else plan,
        "subgoal_plan": annotation.subgoal_plan,
    }
    return json.dumps(row if annotation.ans is None else row | {"ans": annotation.ans})
