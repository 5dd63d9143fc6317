"""What a virtual API server answers, without the server: names, large and deep answers, the published documents."""

from __future__ import annotations

import json

import pytest

from lumos_queue.actions.tools.answers import MAX_BODY
from lumos_queue.actions.tools.arguments import canonical
from lumos_queue.actions.tools.function_names import category_name, safe_name, standardize
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.records import Records, records_of
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.execution.serving.answers import Answers, BadRequest
from lumos_queue.execution.serving.catalogue import Catalogue, read_catalogue
from lumos_queue.records import Task
from tests.tool_apis import LATEST, call, play, record

PLAIN = {"category": "Parcels_Mail", "tool": "swift_post", "api": "latest"}


def request(category: str, tool: str, api: str, arguments: object = None) -> dict:
    return {"category": category, "tool_name": tool, "api_name": api, "tool_input": arguments}


def answers(records: list[dict], mode: str = "strict", documents: tuple = ()) -> Answers:
    found, bad = records_of(records)
    assert not bad
    return Answers(mode, Catalogue(functions_of(documents), found.apis()), found)


def said(served: Answers, asked: dict) -> dict:
    return json.loads(served.reply(asked))


@pytest.mark.parametrize("reverse", [False, True])
def test_records_of_one_api_in_two_spellings_answer_requests_in_either(reverse):
    both = [record(response="written"), {**record(arguments={"parcelid": "P2"}, response="plain"), **PLAIN}]
    served = answers(both[::-1] if reverse else both)
    for names in (("Parcels, Mail", "Swift Post", "Latest"), tuple(PLAIN.values())):
        assert said(served, request(*names, {"parcelid": "P1"}))["response"] == "written"
        assert said(served, request(*names, {"parcelid": "P2"}))["response"] == "plain"


def test_a_document_makes_equal_arguments_equal_whatever_records_call_them():
    records = [record(arguments={"parcelId": "P1", "limit": "2"}), {**record(arguments={"parcelid": "P2"}), **PLAIN}]
    served = answers(records, documents=(LATEST,))
    assert said(served, request(*PLAIN.values(), {"limit": 2.0, "parcelid": "P1"}))["response"] == "there"
    assert said(served, request(*PLAIN.values(), '{"parcelId": "P2"}'))["response"] == "there"
    assert served.statistics.recorded == 2


def test_an_answer_that_is_too_long_is_cut_and_still_json():
    for response in ("\u00e9" * 2 * MAX_BODY, ["x" * 1_000] * 500):
        found = said(answers([record(response=response)]), request(*PLAIN.values(), {"parcelid": "P1"}))
        assert found["response"].endswith("...") and len(json.dumps(found, ensure_ascii=False)) < 1.2 * MAX_BODY
        text = response if isinstance(response, str) else json.dumps(response)
        assert text.startswith(found["response"][:-3]), "its beginning"


def test_a_shape_that_is_nested_too_deeply_is_a_miss():
    shape: list = ["str"]
    for _ in range(100_000):
        shape = [shape]
    served = answers([], "synthetic", ({**LATEST, "template_response": shape},))
    assert "nested too deeply" in said(served, request(*PLAIN.values(), {"parcelid": "P1"}))["error"]
    assert served.statistics.misses == 1


@pytest.mark.parametrize("asked", [{}, request("a", "b", None), request("a", "b", "c", 1), request("a", "b", "c", [])])
def test_what_is_no_request_is_refused(asked):
    with pytest.raises(BadRequest, match=r"^'(category|api_name|tool_input)' is "):
        answers([record()]).reply(asked)


def test_there_must_be_something_to_serve():
    with pytest.raises(SpecError, match="nothing to serve"):
        answers([])
    with pytest.raises(SpecError, match="Choose one of: nearest, strict, synthetic"):
        answers([record()], "live")


def test_the_published_documents_are_served_as_a_session_answers_them(shared_data):
    """By the names that ToolBench's clients send; where these are equal for two APIs, those as written still differ."""
    folder = shared_data / "stabletoolbench" / "solvable_queries" / "test_instruction"
    served = Answers("synthetic", read_catalogue(folder, Records()), Records())
    checked = 0
    for file in sorted(folder.glob("*.json")):
        entries = [one for row in json.loads(file.read_text()) for one in row["api_list"]]
        for function in functions_of(entries)[:40]:
            try:
                given = canonical(function, {one.name: "1" for one in function.parameters if one.required})
            except ActionError:
                continue  # an argument that is a list or true or false
            written = (function.category, function.tool, function.api)
            plain = (category_name(written[0]), standardize(written[1]), safe_name(written[2]))
            body = served.reply(request(*written, dict(reversed(given.items()))))
            assert json.loads(body)["error"] == "" and served.reply(request(*plain, json.dumps(given))) == body
            if checked % 10 == 0:
                entry = next(one for one in entries if one["api_name"] == written[2] and one["tool_name"] == written[1])
                task = Task("toolbench", "d", "1", "?", {"functions": [entry]})
                done = play([call(functions_of([entry])[0].name, given)], task, {"answers": "synthetic"})[0][0]
                assert done.values[0].get("full", done.values[0]["text"]) == body.decode()
            checked += 1
    assert checked > 200 and served.statistics.synthetic == 2 * checked
