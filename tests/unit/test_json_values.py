"""The JSON of report values: keys in the order of fields, and what is left out or merged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from lumos_queue.reports.json_values import MERGED, OPTIONAL, as_json, named


@dataclass(frozen=True, slots=True)
class Interval:
    ends: tuple[float, float]
    name: str = "Wilson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    job: str
    part: Interval | None = field(default=None, metadata=MERGED)
    note: str | None = field(default=None, metadata=OPTIONAL)
    missing: float | None = None
    intervals: Sequence[Interval] = ()
    by_seed: Mapping[int, Interval] = field(default_factory=dict)


def test_keys_are_in_the_order_of_fields_and_sequences_are_lists():
    score = Score(job="a", note="seen", part=Interval((0.0, 1.0)), intervals=(Interval((0.25, 0.5), "other"),))
    assert json.dumps(as_json(score)) == json.dumps(
        {
            "job": "a",
            "ends": [0.0, 1.0],
            "name": "Wilson",
            "note": "seen",
            "missing": None,
            "intervals": [{"ends": [0.25, 0.5], "name": "other"}],
            "by_seed": {},
        }
    )


def test_an_optional_value_that_is_none_has_no_key_and_another_is_null():
    assert as_json(Score(job="a")) == {"job": "a", "missing": None, "intervals": [], "by_seed": {}}
    assert as_json(Score(job="a", note=""))["note"] == "", "an empty text is a value"


@dataclass(frozen=True, slots=True)
class Renamed:
    kind: str = field(metadata=named("class"))


def test_a_field_may_have_a_key_that_is_a_word_of_python():
    assert as_json(Renamed("outage")) == {"class": "outage"}


def test_mappings_keep_their_keys_and_order():
    value = as_json({"b": (1, 2), "a": {3: Interval((0.0, 0.5))}})
    assert list(value) == ["b", "a"] and value == {"b": [1, 2], "a": {3: {"ends": [0.0, 0.5], "name": "Wilson"}}}


@pytest.mark.parametrize("value", ["text", 3, 0.5, True, None])
def test_other_values_are_as_they_are(value):
    assert as_json(value) is value
