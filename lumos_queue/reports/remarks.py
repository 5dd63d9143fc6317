"""Remarks on a conversion beside its numbers, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.records import MODULES

MIN_SHARE = 0.05  #: of overlong rows, from which a remark is made


def remarks(spec: Mapping[str, Any], judged_rows: int, verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """`judged`: rows with a judgement; `verdicts`: rows by filter and module, as the report has them."""
    rows = max(
        (verdict[module] for verdict in verdicts if verdict["name"] == "overlong" for module in MODULES), default=0
    )
    if not rows or rows < MIN_SHARE * judged_rows:
        return []
    return [
        f"{rows:,} of {judged_rows:,} rows are overlong: a training conversation may have {spec['most_tokens']:,} "
        "tokens. Convert again with --longest to allow more."
    ]
