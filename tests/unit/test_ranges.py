"""The numbers that requests from Python may have."""

import math

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.submission.ranges import MAX_INTEGER, RANGES, check_ranges
from tests.command_tree import all_commands


def test_they_are_those_of_the_command_line():
    commands, seen = all_commands(), set()
    for command in ("evaluate", "infer", "convert", "train sft", "train experts"):
        for one in (one for one in commands[command].params if one.name in RANGES):
            most = math.inf if isinstance(one.min, float) else MAX_INTEGER
            assert RANGES[one.name] == (one.min, most if one.max is None else one.max), f"{command} {one.name}"
            assert type(RANGES[one.name][0]) is type(one.min)
            seen.add(one.name)
    assert seen == set(RANGES)


@pytest.mark.parametrize("value", [-1, 1001, 0, True, "5", 2.0, None, float("nan")])
def test_any_other_is_refused(value):
    with pytest.raises(SpecError, match=r"^samples is .*: expected a whole number from 1 to 1,000\.$"):
        check_ranges({"samples": value})


def test_those_in_range_are_taken():
    check_ranges({"samples": 1000, "temperature": 0, "top_p": 1, "shots": None, "priority": -5, "other": "x"})
