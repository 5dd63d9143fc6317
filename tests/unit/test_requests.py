"""Requests: their fields as JSON, and the values that are refused."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.build import BuildRequest
from lumos_queue.submission.requests.checks import check_request, spell_errors
from lumos_queue.submission.requests.continuation import BlameRequest, RegroundRequest, RolloutsRequest
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.judging import GradingRequest, JudgingRequest
from lumos_queue.submission.requests.option import MAX_INTEGER, DeclaredOption, Entrance, list_options
from lumos_queue.submission.requests.reading import make_request
from lumos_queue.submission.requests.scheduling import SchedulingRequest
from lumos_queue.submission.requests.serialization import from_json, to_json
from lumos_queue.submission.requests.training import ExpertsRequest, RltfRequest, SftRequest, StarterRequest

REQUESTS = [
    BlameRequest,
    BuildRequest,
    ConversionRequest,
    ExpertsRequest,
    GradingRequest,
    InferenceRequest,
    JudgingRequest,
    RegroundRequest,
    RltfRequest,
    SchedulingRequest,
    RolloutsRequest,
    SftRequest,
    StarterRequest,
]
PATHS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1).map(Path)


def values_of(option: DeclaredOption) -> st.SearchStrategy[Any]:
    """Return the values that a field may have."""
    least, largest = option.option.min, option.option.max
    if option.kind is int:
        values: st.SearchStrategy[Any] = st.integers(
            -MAX_INTEGER if least is None else int(least), MAX_INTEGER if largest is None else int(largest)
        )
    elif option.kind is float:
        values = st.floats(-1e300 if least is None else least, 1e300 if largest is None else largest, allow_nan=False)
    elif option.kind is tuple:
        values = st.lists(st.text()).map(tuple)
    else:
        values = {bool: st.booleans(), str: st.text(), Path: PATHS}[option.kind]
    return values | st.none() if option.is_optional else values


def requests_of(request_class: type) -> st.SearchStrategy[Any]:
    return st.builds(request_class, **{option.field: values_of(option) for option in list_options(request_class)})


@pytest.mark.parametrize("request_class", REQUESTS)
@given(data=st.data())
def test_a_request_is_read_as_it_was_written(request_class, data):
    request = data.draw(requests_of(request_class))
    assert from_json(request_class, json.loads(json.dumps(to_json(request)))) == request


@pytest.mark.parametrize("request_class", REQUESTS)
def test_every_field_is_an_option_with_a_help(request_class):
    options = list_options(request_class)
    assert [option.field for option in options] == [field.name for field in fields(request_class)]
    assert all(option.option.help for option in options)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"limt": 3}, r"No field of a request called 'limt'\. Did you mean 'limit'\?"),
        ({"version": 2}, r"version is 2: expected 1\."),
        ({"version": True}, r"version is True: expected 1\."),
        ({"limit": "3"}, r"^--limit is '3': expected a whole number from 0 to 2,147,483,647\.$"),
        ({"temperature": True}, r"^--temperature is True: expected a number of at least 0\.$"),
        ({"temperature": 10**400}, r"^--temperature is 1000"),
        ({"temperature": float("nan")}, r"^--temperature is nan"),
        ({"temperature": float("inf")}, r"^--temperature is inf: expected a number of at least 0\.$"),
        ({"deterministic": 1}, r"^--deterministic is 1: expected true or false\.$"),
        ({"split": None}, r"^--split is None: expected a text\.$"),
        ({"tokenizer": 5}, r"^--tokenizer is 5: expected a path\.$"),
        ({"options": "a=b"}, r"^--option is 'a=b': expected a list of texts\.$"),
        ({"options": [1]}, r"^--option is \[1\]: expected a list of texts\.$"),
    ],
)
def test_json_that_is_no_request_is_refused(document, problem):
    with pytest.raises(SpecError, match=problem):
        from_json(ConversionRequest, {"version": 1} | document, Entrance.COMMAND)


def test_a_missing_field_is_named():
    with pytest.raises(SpecError, match=r"^folder is missing: expected a path\.$"):
        from_json(SftRequest, {"version": 1, "data": ["a"]})
    with pytest.raises(SpecError, match=r"^--from is missing: expected a path"):
        make_request(RltfRequest, {"benchmark": "openagi", "folder": "x"}, Entrance.COMMAND)


def test_an_entrance_refuses_options_that_it_does_not_offer():
    with pytest.raises(SpecError, match="No option called 'waiting'"):
        make_request(ConversionRequest, {"waiting": "k3f9a2cd"}, Entrance.PYTHON)


def test_an_error_has_the_spelling_of_its_entrance():
    for entrance, message in (
        (Entrance.PYTHON, "skip_bad_rows= and limit=, not --limits: options="),
        (Entrance.SWEEP, "skip_bad_rows and limit, not --limits: option"),
    ):
        with pytest.raises(SpecError, match=f"^{message}$"), spell_errors(ConversionRequest, entrance):
            raise SpecError("--skip-bad-rows and --limit, not --limits: --option")


def test_values_at_the_ends_of_their_ranges_are_valid():
    request = replace(ConversionRequest(), reasks=10, samples=1000, temperature=0, longest=1)
    check_request(request)
