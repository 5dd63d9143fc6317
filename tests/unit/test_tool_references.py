"""References of a plan: what `#E1` and `#E1.name` stand for in a later call, and what they never break."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from lumos_queue.actions.tools.arguments import read_arguments
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.references import MAX_FILLED
from lumos_queue.commands import Call
from lumos_queue.errors import ActionError
from lumos_queue.prompts.plans import read_plan
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, OFFICES_NAME, TASK, call, entry, parameter, play, record

(FUNCTION,) = functions_of(
    [
        entry(
            "All",
            [],
            [
                parameter("text"),
                parameter("number", "NUMBER"),
                parameter("full", "BOOLEAN"),
                parameter("any", "OBJECT"),
            ],
        )
    ]
)
ORDERS = {"orders": [{"id": 17, "Item-name": 'a "pen"', "open": True}, {"id": 18.5}], "total": "2", "no": None}


def returned(response, error: str = "") -> dict:
    return {"kind": "observation", "text": json.dumps({"error": error, "response": response}), "code": 0}


KNOWN = {"#E1": returned(ORDERS), "#E2": returned("Ombry"), "#E3": returned(7)}


def read(arguments: str, known=None) -> dict:
    return read_arguments(FUNCTION, arguments, KNOWN if known is None else known)


def refusal(arguments: str, known=None) -> str:
    with pytest.raises(ActionError) as caught:
        read(arguments, known)
    assert caught.value.kind == "invalid_arguments" and "\n" not in str(caught.value) and len(str(caught.value)) < 900
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"text": "#E2"}', {"text": "Ombry"}),
        ('{"text": " #E2 "}', {"text": "Ombry"}),
        ('{"text": "near #E2, #E3"}', {"text": "near Ombry, 7"}),
        ('{"number": "#E3"}', {"number": 7}),
        ('{"text": "#E3"}', {"text": "7"}),
        ('{"number": "#E1.orders[0].id"}', {"number": 17}),
        ('{"number": "#E1.orders[1].id"}', {"number": 18.5}),
        ('{"number": "#E1.total"}', {"number": 2}),
        ('{"full": "#E1.orders[0].open"}', {"full": True}),
        ('{"text": "#E1.orders[0].Item-name"}', {"text": 'a "pen"'}),
        ('{"text": "#E1.orders[1]"}', {"text": '{"id":18.5}'}),
        ('{"any": "#E1.orders[1]"}', {"any": {"id": 18.5}}),
        ('{"any": {"a": ["#E3", "#E2!", 1]}}', {"any": {"a": [7, "Ombry!", 1]}}),
        ('{"text": "of #E1.orders[1]."}', {"text": 'of {"id":18.5}.'}),
        ('{"text": "#E02 #E2"}', {"text": "Ombry Ombry"}),
        ('{"text": "#E12345 #E2x # E2 E2"}', {"text": "#E12345 #E2x # E2 E2"}),
        ('{"text": "#E1.no", "number": 1}', {"number": 1}),
    ],
)
def test_a_reference_stands_for_the_response_or_a_part_of_it(arguments, wanted):
    assert read(arguments) == wanted


def test_what_a_model_was_shown_cut_is_used_whole():
    whole = json.dumps({"error": "", "response": {"long": "x" * 3_000, "id": 5}})
    known = {"#E1": {"kind": "observation", "text": whole[:100] + "...", "full": whole, "truncated": True}}
    assert read('{"number": "#E1.id"}', known) == {"number": 5}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"text": "#E9"}', "#E9 has no value: no call of that number has returned anything"),
        ('{"text": "see #E9.name"}', "#E9 has no value"),
        ('{"text": "#E1.name"}', "#E1 has no part .name: it is an object with .orders, .total, .no"),
        ('{"text": "#E1.orders[2]"}', "#E1.orders has no part [2]: it is a list of 2"),
        ('{"text": "#E1.orders.id"}', "#E1.orders has no part .id: it is a list of 2"),
        ('{"text": "#E2.town"}', "#E2 has no part .town: it is a text"),
        ('{"text": "#E3[0]"}', "#E3 has no part [0]: it is a single value"),
        ('{"number": "#E1.orders[0]"}', "'number' must be a number, not"),
        ('{"number": "#E2"}', "'number' must be a number, not \"Ombry\""),
        ('{"text": #E1}', "not JSON"),
        ('{"#E2": "x"}', "has no argument '#E2'"),
    ],
)
def test_what_a_reference_cannot_stand_for_is_one_status_that_says_why(arguments, said):
    assert said in refusal(arguments)


def test_a_reference_adds_no_argument():
    hostile = {"#E1": returned('", "full": true, "x": "'), "#E2": returned({"full": True}), "#E3": returned("#E1 #E4")}
    assert read('{"text": "#E1"}', hostile) == {"text": '", "full": true, "x": "'}
    assert read('{"text": "a #E2"}', hostile) == {"text": 'a {"full":true}'}
    assert read('{"text": "#E3"}', hostile) == {"text": "#E1 #E4"}, "what was filled in is not read again"


def test_hostile_values_are_refused_or_made_storable():
    deep: object = 1
    for _ in range(98):
        deep = [deep]
    known = {
        "#E1": returned("x" * (MAX_FILLED + 1)),
        "#E2": returned("a\x00\ud800b"),
        "#E3": {"text": "{" * 9_000},
        "#E4": {"text": '{"error": "", "response": ' + "[" * 9_000 + "]" * 9_000 + "}"},
        "#E5": returned(deep),
        "#E6": {"text": '{"error": "", "resp'},
        "#E7": {},
        "#E8": returned("y" * 9_000),
        "#E9": returned({f"name{n}": "z" * 99 for n in range(50)}),
    }
    assert "too long: all references" in refusal('{"text": "#E1"}', known)
    assert "too long" in refusal('{"text": "#E8 #E8 #E8"}', known)
    assert "too long" in refusal(json.dumps({"text": "#E9" * 5_000}), known)
    assert read('{"text": "#E2"}', known) == {"text": "a��b"}
    for name in ("#E3", "#E4", "#E6", "#E7"):
        assert "cannot be used as JSON" in refusal(f'{{"text": "{name}.a"}}', known)
    assert read('{"any": "#E5"}', known) == {"any": deep}
    assert "#E9 has no part" in refusal(json.dumps({"text": "#E9." + "a" * 9_000}), known)
    assert "no part" in refusal(json.dumps({"text": "#E5" + "[0]" * 3_000}), known)


def test_any_text_with_references_is_read_or_refused():
    rng, pieces = random.Random(7), ["#E1", "#E2", "#E", ".orders", ".", "[0]", "[", "]", "id", "1", " ", "é", "-", "#"]
    read_ones = 0
    for _ in range(3_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(8)))
        try:
            json.dumps(read(json.dumps({"any": {"x": text}})))
            read_ones += 1
        except ActionError as error:
            assert error.kind == "invalid_arguments"
    assert 500 < read_ones < 3_000


def test_a_plan_knows_which_calls_its_references_need():
    (one,) = read_plan('#E3 = all {"a": "#E1.orders[0].id", "b": ["of #E02.name."], "c": "#E4x"}')
    assert one.references == {"#E1", "#E2"}


def test_a_later_call_gets_the_response_and_a_call_that_failed_gives_none():
    task = replace(
        TASK,
        inputs={
            "functions": [LATEST, OFFICES],
            "answers": [
                record(response={"town": "Ombry", "day": 3}),
                record(arguments={"parcelid": "P2"}, error="later", response=""),
            ],
        },
    )
    asked = [
        [call(LATEST_NAME, {"parcelid": "P1"}, ("#E1",)), call(LATEST_NAME, {"parcelid": "P2"}, ("#E2",))],
        call(OFFICES_NAME, {"town": "#E1.town"}, ("#E3",)),
        call(OFFICES_NAME, {"town": "#E2"}, ("#E4",)),
        call(OFFICES_NAME, {"town": "#E1.mayor"}, ("#E5",)),
        call(OFFICES_NAME, {"town": "in #E1.town"}, ("#E6",)),
        call(OFFICES_NAME, {"town": "#E1"}),
    ]
    given, journal, _ = play(asked, task, {"answers": "synthetic"})
    statuses = ["ok", "tool_error", "ok", "invalid_arguments", "invalid_arguments", "ok", "ok"]
    assert [done.status for done in given] == statuses
    made = [step.command.arguments["arguments"] for step in journal.steps if isinstance(step.command, Call)]
    assert made[2:] == [{"town": "Ombry"}, {"town": "in Ombry"}, {"town": "#E1"}], "an agent without a plan has none"
    assert "it is an object with .town, .day" in given[4].message
    again, _, _ = play(asked, task, {"answers": "synthetic"})
    assert [replace(one, seconds=0) for one in again] == [replace(one, seconds=0) for one in given]
