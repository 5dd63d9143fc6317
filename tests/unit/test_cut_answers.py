"""Recorded answers that were cut off: an answer is shown as it was recorded, wherever it was cut. Invented answers."""

from __future__ import annotations

import json

import pytest

from lumos_queue.actions.tools.answers import envelope, observe
from lumos_queue.compat.toolbench.cut_json import complete_json
from lumos_queue.compat.toolbench.recorded_answers import read_observation

OBJECT = {
    "shops": [{"name": 'Ahr "Ink" & Co', "open": True, "rating": 4.25, "rent": -1200, "tags": [], "owner": None}],
    "next": {"page": 12, "tokens": ["a\\b", "line\nbreak", ""], "closed": False, "none": {}},
    "share": 1.5e-07,
}


def cut(text: str, limit: int) -> str:
    return f"{text[:limit]}..."


@pytest.mark.parametrize("response", [OBJECT, [OBJECT, 7], 12.5, 'text with a \\ and a " in it'])
def test_an_answer_is_shown_as_recorded_wherever_it_was_cut(response):
    body = envelope("", response)
    for limit in range(len('{"error": "'), len(body)):
        if body[limit - 1] == "\\" and not body[:limit].endswith("\\\\"):
            continue  # half an escape is not shown again
        recorded = cut(body, limit)
        assert observe(envelope(*read_observation(recorded)), 0, limit)[0] == recorded


def test_the_error_of_a_cut_answer_stays():
    recorded = cut(envelope("Timeout of the shop", {"shops": [{"name": "Ahr"}]}), 66)
    assert read_observation(recorded) == ("Timeout of the shop", {"shops": [{"name": ""}]})


def test_half_an_escape_within_an_object_is_removed():
    assert read_observation('{"error": "", "response": {"name": "caf\\u00...') == ("", {"name": "caf"})
    assert read_observation('{"error": "", "response": {"name": "ab\\\\\\...') == ("", {"name": "ab\\"})


@pytest.mark.parametrize(
    "text",
    [
        '{"error": "", "response": {\'name\': \'Ah...',  # Python's form of an object
        '{"error": "", "message": {"name": "Ah...',  # no envelope
        '{"error": "", "response": {"name": "Ah"}, "more": [1...',
        '{"error": "", "response": {"name": "Ah"}}]...',
        '{"error": "", "response": {"name": nothing...',
        '{"error": "", "error": 7...',
        '{"error": "", "response": {"name": "Ah',
        '{"error": "", "response": ' + "[" * 100_000 + "...",
        '{"error": "", "response": ' + "9" * 10_000 + "...",
    ],
)
def test_other_texts_are_responses_themselves(text):
    assert read_observation(text) == ("", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, {"b": "tex', {"a": [1, {"b": "tex"}]}),
        ('{"a": [1, {"b"', {"a": [1, {"b": None}]}),
        ('{"a": 1.5, "b": tr', {"a": 1.5, "b": True}),
        ('{"a": 1, ', {"a": 1, "": None}),
        ('["a", ', ["a", None]),
        ('{"a":', {"a": None}),
        ("[-", [-1]),
    ],
)
def test_json_is_completed(text, value):
    assert json.loads(complete_json(text)) == value
