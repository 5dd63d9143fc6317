"""The figures of docs/training_data.md on annotations that people have read follow from the list of readings.

A line of `annotation_readings.jsonl` is one accepted row that a reader compared with its rationale, without seeing the
code. Rows are those of the published files, counted from 1; the readings have no texts. Samples 1 and 2 were read
before the rules were final, so only sample 3 counts. `unsure` counts as not right.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lumos_queue.scoring.statistics import wilson

FINAL = 3
ROOT = Path(__file__).parents[2]
READINGS = [json.loads(line) for line in Path(__file__).with_name("annotation_readings.jsonl").read_text().splitlines()]
GROUPS = sorted({(reading["source"], reading["level"]) for reading in READINGS})


def count(sample: int, source: str, level: str) -> Counter[str]:
    keys = (sample, source, level)
    rows = (reading for reading in READINGS if (reading["sample"], reading["source"], reading["level"]) == keys)
    return Counter(reading["judgement"] for reading in rows)


@pytest.mark.parametrize(("source", "level"), GROUPS)
def test_the_page_states_the_share_of_the_final_sample(source, level):
    judgements = count(FINAL, source, level)
    right, n = judgements["right"], judgements.total()
    low, high = wilson(right, n)
    figures = f"| {right} of {n} | {right / n:.1%} [{low:.1%}, {high:.1%}] |".replace("%", "")
    page = (ROOT / "docs" / "training_data.md").read_text()
    assert f"| {source} | `{level.replace(' and ', '`, `')}` {figures}" in page


def test_a_wrong_step_is_named_with_its_kind():
    kinds = {"link", "number", "sub-question", "result", "wording"}
    for reading in READINGS:
        assert reading["judgement"] in ("right", "wrong", "unsure")
        assert (reading.get("kind") in kinds) == (reading["judgement"] == "wrong")


def test_samples_have_no_row_in_common():
    rows = [(reading["source"], reading["level"], reading["row"]) for reading in READINGS]
    assert len(rows) == len(set(rows)), [row for row, times in Counter(rows).items() if times > 1][:5]
