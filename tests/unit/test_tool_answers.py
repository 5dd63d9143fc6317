"""Answers of APIs: recorded, nearest, generated, simulated; and the options that say which."""

from __future__ import annotations

import json
import os

import pytest

from lumos_queue.actions.tools.answers import MAX_BODY, SHOWN, Answer, envelope, observe
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.actions.tools.records import Records, read_records, record_of, records_of
from lumos_queue.actions.tools.shapes import read_shape
from lumos_queue.actions.tools.simulator import MAX_EXAMPLE_CHARACTERS, simulator_prompt
from lumos_queue.actions.tools.statuses import CODES, code_of, status_of, status_of_answer
from lumos_queue.actions.tools.synthetic import MAX_VALUES, synthesize
from lumos_queue.errors import BadRow, SpecError
from tests.tool_apis import LATEST, entry, parameter, record

(LATEST_FUNCTION,) = functions_of([LATEST])


def write(folder, *lines):
    path = folder / "records.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def known(*entries):
    return Records([record_of(row, one) for row, one in enumerate(entries, start=1)])


def test_each_status_has_a_number_and_each_number_one_status():
    assert {status_of(code) for code in range(13)} == {*CODES}
    assert all(status_of(code) == status for status, code in CODES.items())
    assert [status_of(code) for code in (3, 7, 8, 9, 10)] == ["ok"] + ["unauthorised"] * 2 + ["rate_limited"] * 2
    assert status_of(13) is None and code_of("not_recorded") is None


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        ("", None, "ok"),
        ("  ", None, "ok"),
        ("gone", None, "tool_error"),
        ("gone", 0, "ok"),
        ("", 11, "tool_error"),
        ("", 8, "unauthorised"),
        ("gone", 12, "transport_error"),
    ],
)
def test_a_status_is_that_of_the_code_or_else_of_the_error(error, code, status):
    assert status_of_answer(error, code) == status == Answer(error, "x", code).execution().status


@pytest.mark.parametrize(
    "body", ["a harmless error", {"error": "unauthorised"}, "404 gateway blocked too many requests"]
)
def test_a_body_that_speaks_of_errors_is_none(body):
    assert Answer("", body).execution().status == "ok"


def test_a_code_of_two_for_one_status_is_kept():
    done = Answer("wait", "", 10).execution()
    assert (done.status, done.values[0]["code"]) == ("rate_limited", 10)


def test_an_observation_is_cut_at_the_limit_and_kept_whole():
    body = envelope("", "x" * 2_000)
    shown, value = observe(body, 0, SHOWN)
    assert shown == body[:SHOWN] + "..." == value["text"]
    assert value["full"] == body and value["truncated"] is True
    shown, value = observe(body[:SHOWN], 0, SHOWN)
    assert shown == body[:SHOWN] and "full" not in value and "truncated" not in value


def test_hostile_bodies_are_kept_cut_or_refused():
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    large, nested, nul = (Answer("", body).execution() for body in ("x" * 10**7, deep, {"a\x00": "\ud800"}))
    assert len(large.values[0]["text"]) == MAX_BODY and len(large.result) == SHOWN
    assert nested.status == "tool_error" and "RecursionError" in nested.message
    assert nul.values[0]["text"] == envelope("", {"a�": "�"})
    assert Answer("", object()).execution().status == "tool_error"
    json.dumps([large.values, nested.values, nul.values]).encode()


def test_a_record_is_found_whatever_the_order_and_spelling_of_its_arguments():
    records = known(
        record(arguments={"limit": "5", "parcelId": "P1"}), record(arguments='{"parcelid": "P2"}', response="2")
    )
    found = records.find(LATEST_FUNCTION, {"limit": 5, "parcelid": "P1"})
    assert found is not None and (found.response, found.provenance) == ("there", "recorded")
    assert records.find(LATEST_FUNCTION, {"parcelid": "P2"}).response == "2"  # type: ignore[union-attr]
    assert records.find(LATEST_FUNCTION, {"parcelid": "P1"}) is None


def test_a_record_may_have_the_names_of_the_document_or_toolbenchs_own_and_no_other():
    own = {"category": "Parcels_Mail", "tool": "swift_post", "api": "latest"}
    assert known(record() | own).find(LATEST_FUNCTION, {"parcelid": "P1"}) is not None
    assert known(record() | {"api": "LATEST"}).find(LATEST_FUNCTION, {"parcelid": "P1"}) is None
    assert known(record() | {"category": "Sport"}).find(LATEST_FUNCTION, {"parcelid": "P1"}) is None


def test_equal_requests_have_the_answers_of_their_lines_in_turn_and_then_the_last():
    records = known(record(response="", error="wait", code=9), record(response="sent"), record(response="come"))
    found = [records.find(LATEST_FUNCTION, {"parcelid": "P1"}, nth).response for nth in range(5)]  # type: ignore[union-attr]
    assert found == ["", "sent", "come", "come", "come"]


def test_the_nearest_record_has_most_arguments_in_common_and_is_flagged():
    records = known(
        record(arguments={"parcelid": "P1", "limit": 3}, response="far"),
        record(arguments={"parcelid": "P2"}, response="less in common, and not more apart"),
        record(arguments={"parcelid": "P2", "full": True, "limit": 3}, response="near"),
        record(arguments={"parcelid": "P2", "full": True, "limit": 4}, response="later"),
    )
    found = records.nearest(LATEST_FUNCTION, {"parcelid": "P2", "full": True, "limit": 9})
    assert found is not None and found.response == "near" and '"full": true' in found.message
    exact = records.nearest(LATEST_FUNCTION, {"parcelid": "P1", "limit": 3})
    assert exact is not None and (exact.response, exact.message) == ("far", "")
    assert records.nearest(functions_of([entry("Other")])[0], {}) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not recorded answers: rows"),
        ("[]", "has no row. Expected recorded answers"),
        ("[[]]", "expected a JSON object, found a list"),
        ({"question": "x"}, "its first row has the fields: question"),
        (record() | {"api": 3}, "field 'api': expected text"),
        (record() | {"api": ""}, "field 'api': empty"),
        (record(code=99), "99 is not the number of a status"),
        (record(code="x"), "field 'code': expected a whole number"),
        (record(provenance="live"), "expected one of recorded, simulated, synthetic"),
        (record(arguments=[1]), "field 'arguments': expected an object"),
        (record(arguments="[1]"), "field 'arguments': the arguments are not a JSON object"),
        (record(error=3), "field 'error': expected text"),
        ('{"api": "x", "response": ' + "[" * 9_000 + "]" * 9_000 + "}", "deep"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path, line, said):
    with pytest.raises(SpecError, match=r"records\.jsonl") as error:
        read_records(write(tmp_path, line))
    assert said in str(error.value) and len(str(error.value)) < 600
    with pytest.raises(SpecError, match="row 2" if not isinstance(line, dict) or "api" in line else "row 2.*api"):
        read_records(write(tmp_path, record(), line))


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path):
    with pytest.raises(SpecError, match=r"Cannot read .*no.jsonl': No such file"):
        read_records(tmp_path / "no.jsonl")
    path = write(tmp_path, record())
    os.truncate(path, 2**29 + 1)
    with pytest.raises(SpecError, match=r"has 536\.9 MB, at most 536\.9 MB are allowed"):
        read_records(path)


def test_of_a_tasks_answers_those_that_are_none_are_counted():
    records, bad = records_of([record(), 7, {"api": 3}, None, record(code=77)])
    assert bad == 4 and records.find(LATEST_FUNCTION, {"parcelid": "P1"}) is not None
    assert records_of(None)[1] == records_of("text")[1] == 0
    with pytest.raises(BadRow):
        record_of(1, 7)


def test_a_generated_answer_has_the_documented_shape_and_is_always_the_same():
    found = synthesize(LATEST_FUNCTION, {"parcelid": "P1"})
    assert (found.code, found.provenance) == (0, "synthetic")
    # Written down: other machines and versions must generate the same.
    assert found.response == {
        "parcelId": "P1",
        "weight": GENERATED[0],
        "stops": [{"town": town, "day": day} for town, day in GENERATED[1]],
    }
    assert synthesize(LATEST_FUNCTION, {"parcelid": "P2"}).response["weight"] != found.response["weight"]


GENERATED = (825.49, (("fjord-734", 254), ("prairie-576", 4), ("cedar-278", 73)))


def test_without_a_documented_shape_an_answer_names_the_api_and_the_arguments():
    for template in ({}, None, "", "not JSON", "[", 7):
        (bare,) = functions_of([entry("Bare", template_response=template)])
        assert synthesize(bare, {"q": 1}).response == {"api": "Bare", "arguments": {"q": 1}}


def test_a_shape_that_was_cut_is_read_as_far_as_it_is_whole():
    whole = {
        "a": "str",
        "b": {"c": ["list of int with length 2"], "d, {": [{"e": "int", "_list_length": 3}]},
        'f\\"': "bool",
    }
    text = json.dumps(whole)
    assert read_shape(text) == whole
    cuts = [read_shape(text[:length]) for length in range(len(text))]
    assert cuts[0] is None and cuts[3] is None and cuts[12] == {"a": "str"}
    assert cuts[text.index('"d,')] == {"a": "str", "b": {"c": ["list of int with length 2"]}}
    assert all(cut is None or cut.keys() <= whole.keys() for cut in cuts)
    assert (
        read_shape("[" * 5_000) is None
        and read_shape('{"a":' * 5_000) is None
        and read_shape('"' + "\\" * 9_999) is None
    )


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        ("int", lambda value: type(value) is int),
        ("float", lambda value: type(value) is float),
        ("bool", lambda value: type(value) is bool),
        ("NoneType", lambda value: value is None),
        ("empty list", lambda value: value == []),
        ("anything", lambda value: type(value) is str),
        (["list of str with length 94"], lambda value: len(value) == 3 and all(type(one) is str for one in value)),
        (["list of int with length 1"], lambda value: len(value) == 1 and type(value[0]) is int),
        (["list of list with length 2"], lambda value: value == [[], []]),
        ([], lambda value: value == []),
        ({}, lambda value: value == {}),
        (7, lambda value: type(value) is str),
        (None, lambda value: type(value) is str),
        ([{"x": "int", "_list_length": "many"}], lambda value: len(value) == 1 and type(value[0]["x"]) is int),
    ],
)
def test_each_kind_of_shape_gives_a_value_of_it(shape, fits):
    (of,) = functions_of([entry("Kinds", template_response={"value": shape})])
    assert fits(synthesize(of, {}).response["value"])


def test_a_shape_without_end_gives_an_answer_of_bounded_size():
    wide = {f"k{number}": "str" for number in range(100_000)}
    bush: dict = {"leaf": "str"}
    for _ in range(40):
        bush = {"a": [bush], "b": [bush, bush, bush]}
    hedge: list = ["str"]
    for _ in range(30):
        hedge = [hedge, hedge, hedge]
    for shape in (wide, bush, hedge):
        (of,) = functions_of([entry("Large", template_response=shape)])
        assert len(json.dumps(synthesize(of, {}).response)) < 60 * MAX_VALUES


def test_the_simulator_is_shown_the_document_and_what_examples_have_room():
    of = functions_of([LATEST])[0]
    entries = [
        record(arguments={"parcelid": f"P{number}"}, response="y" * (3_000 if number == 1 else 300))
        for number in range(9)
    ]
    records = known(*entries)
    prompt = simulator_prompt(of, {"parcelid": "P77"}, records.examples(of, 9))
    assert "Swift Post" in prompt and "parcelid: string" in prompt and '"weight": "float"' in prompt and "P77" in prompt
    shown = [number for number in range(9) if f'{{"parcelid": "P{number}"}}' in prompt]
    assert shown == [0, 2, 3, 4], "five are looked at, and one of them has no room"
    assert len(prompt) < MAX_EXAMPLE_CHARACTERS + 3_000


def test_options_are_checked_and_made_absolute(tmp_path, monkeypatch):
    write(tmp_path, record())
    monkeypatch.chdir(tmp_path)
    found = ToolActions.prepare({"answers": "nearest", "records": "records.jsonl", "observation": "0512"})
    assert found["records"] == str(tmp_path / "records.jsonl") and len(found["records_sha256"]) == 64
    assert found["observation"] == "512" and ToolActions(found).limit == 512
    assert ToolActions.prepare({}) == {} and ToolActions.prepare({"answers": "live", "server": "https://h.example/x"})
    (tmp_path / "records.jsonl").write_text(json.dumps(record(response="other text")))
    with pytest.raises(SpecError, match="the job was submitted with"):
        ToolActions(found)
    (tmp_path / "records.jsonl").unlink()
    with pytest.raises(SpecError, match="Cannot read"):
        ToolActions(found)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({"answer": "x"}, "No tool option of domain 'tools' called 'answer'"),
        ({"answers": "guessed"}, "No source of answers called 'guessed'"),
        ({"observation": "0"}, "observation=0 cannot be read"),
        ({"observation": "-1"}, "observation=-1 cannot be read"),
        ({"observation": "9" * 5_000}, "cannot be read: expected a whole number from 1 to 200,000"),
        ({"observation": "²"}, "cannot be read"),
        ({"records": "/no/such/file"}, "Cannot read '/no/such/file'"),
        ({"answers": "live"}, "give --tool server=https://HOST/PATH"),
        ({"answers": "live", "server": "ftp://x"}, "give --tool server"),
        ({"answers": "live", "server": "http://[::1"}, "give --tool server"),
        ({"answers": "live", "server": "https://me:pw@x.example/"}, "give --tool server"),
        ({"server": "https://x.example/"}, "goes with --tool answers=live"),
        ({"answers": "live", "server": "https://x.example/", "records": "x"}, "leave one of the two out"),
    ],
)
def test_options_that_cannot_be_are_refused(tools, said):
    with pytest.raises(SpecError) as error:
        ToolActions.prepare(tools)
    assert said in str(error.value)


def test_records_of_a_function_are_found_with_its_declared_defaults():
    (of,) = functions_of([entry("Search", [parameter("q", default="x"), parameter("n", "NUMBER", "7.80")])])
    records = known(record("Search", {}), record("Search", {"q": "y"}, "y"))
    assert records.find(of, {"n": 7.8, "q": "x"}) is not None
    assert records.find(of, {"n": 7.8, "q": "y"}).response == "y"  # type: ignore[union-attr]
