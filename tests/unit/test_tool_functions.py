"""Functions made from documents of APIs: names, schemas, and what is read of a model's arguments."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.actions.tools.arguments import MAX_ARGUMENTS, canonical, read_arguments
from lumos_queue.actions.tools.finish import read_finish
from lumos_queue.actions.tools.function_names import MAX_NAME, category_name, safe_name, standardize, unique_names
from lumos_queue.actions.tools.functions import FINISH, MAX_DESCRIPTION, MAX_PARAMETERS, functions_of
from lumos_queue.errors import ActionError
from tests.tool_apis import LATEST, entry, parameter


def function(*required, optional=()):
    (found,) = functions_of([entry("Find", required, optional)])
    return found


def refused(of, text, variables=None):
    with pytest.raises(ActionError) as error:
        read_arguments(of, text, variables)
    assert error.value.kind == "invalid_arguments"
    return str(error.value)


def test_names_are_written_as_toolbench_writes_them():
    assert standardize("Suivi-Colis  (v2)") == "suivi_colis_v2"
    assert standardize("360 Tool") == "get_360_tool" and standardize("__a__") == "a"
    assert standardize("天气 API") == "天气_api" and standardize("?!") == ""
    assert [safe_name(one) for one in ("from", "ID", "identity")] == ["is_from", "is_id", "identity"]
    assert category_name("Parcels, Mail/Post") == "Parcels_Mail_Post"


def test_the_last_64_characters_of_a_name_are_kept_and_equal_ones_told_apart_whatever_their_order():
    tool = "a tool whose name has more characters than there is room for in a name"
    apis = [("C", tool, "first by page"), ("C", tool, "other by page"), ("C", "Short", "Latest")]
    names = unique_names(apis)
    assert len(set(names)) == 3 and all(len(name) <= MAX_NAME for name in names)
    assert names[2] == "latest_for_short"
    assert dict(zip(apis, names, strict=True)) == dict(zip(apis[::-1], unique_names(apis[::-1]), strict=True))
    assert unique_names(apis[:1])[0] == f"first_by_page_for_{standardize(tool)}"[-64:], "no digest where none is needed"


def test_names_that_are_equal_before_the_cut_or_empty_are_told_apart_too():
    assert (
        len(set(unique_names([("C", "T", "a b"), ("C", "T", "a-b"), ("D", "T", "a_b"), ("C", "", ""), ("D", "", "?")])))
        == 5
    )


def test_an_api_that_is_listed_twice_is_one_function():
    assert len(functions_of([LATEST, LATEST, entry("Other")])) == 2


def test_a_schema_has_types_examples_and_all_arguments():
    optional = [
        parameter("limit", "NUMBER", "7.8", "x" * 999),
        parameter("full", "BOOLEAN", False),
        parameter("id", "DATE"),
    ]
    schema = function(optional=optional).schema()
    properties = schema["parameters"]["properties"]
    assert schema["parameters"]["required"] == [] and schema["parameters"]["optional"] == ["limit", "full", "is_id"]
    assert properties["limit"]["type"] == "number" and properties["limit"]["example_value"] == 7.8
    assert len(properties["limit"]["description"]) == MAX_DESCRIPTION
    assert properties["full"] == {"type": "boolean", "description": "", "example_value": False}
    assert properties["is_id"] == {"type": "string", "description": ""}
    assert (
        function(parameter("n", "NUMBER", "many")).schema()["parameters"]["properties"]["n"]["example_value"] == "many"
    )


def test_a_function_is_described_on_one_line():
    (found,) = functions_of([LATEST])
    assert found.describe() == (
        "latest_for_swift_post(parcelid: string; [limit: number]; [full: boolean]): "
        "A function of the tool 'Swift Post'. Says something of Latest."
    )
    assert "\n" not in functions_of([entry("A", api_description="one\ntwo\r\nthree")])[0].describe()
    assert '"give_answer"' in FINISH.describe() and FINISH.schema()["parameters"]["required"] == ["return_type"]


@pytest.mark.parametrize("bad", [None, 7, "text", [], {}, {"api_name": 3}, {"tool_name": "T"}])
def test_what_is_no_entry_is_passed_over(bad):
    assert functions_of([bad]) == ()


def test_hostile_documents_give_functions_all_the_same():
    many = entry("Many", [parameter(f"p{number}") for number in range(10_000)])
    odd = entry(
        "Odd", [{"name": 3}, {"name": "?"}, {"name": "!"}, 7, None, parameter("a-b"), parameter("a_b")], "no list"
    )
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    types = entry("Types", [parameter(f"t{n}", kind, deep) for n, kind in enumerate(("", None, 3, "WHAT", "ARRAY"))])
    nul = entry("Nul\x00\ud800", [parameter("x\x00", "STRING\x00", "\ud800" + "y" * 5_000, "\x00")])
    huge = entry("Huge" * 10_000, api_description="z" * 10**6, required_parameters=[parameter("n", "NUMBER", 10**5000)])
    found = functions_of([many, odd, types, nul, huge, {"api_name": ""}])
    assert len(found) == 6 and len(found[0].parameters) == MAX_PARAMETERS
    assert [one.name for one in found[1].parameters] == ["argument", "argument_2", "argument_3", "a_b", "a_b_2"]
    for one in found:
        assert len(one.name) <= MAX_NAME
        json.dumps(one.schema()).encode()
        one.describe().encode()


def test_arguments_are_read_into_one_form_for_equal_requests():
    of = function(parameter("parcelId"), optional=[parameter("n", "NUMBER"), parameter("full", "BOOLEAN")])
    texts = [
        '{"parcelid": "P1", "n": 5, "full": true}',
        '{"full": "True", "n": "5.0", "parcelId": "P1"}',
        '{"n": 5.0, "full": true,\n "parcelid": "P1"}',
    ]
    assert len({json.dumps(read_arguments(of, text)) for text in texts}) == 1
    assert list(read_arguments(of, texts[0])) == ["full", "n", "parcelid"]
    assert read_arguments(of, '{"parcelid": 17, "n": null}') == {"parcelid": "17"}, "a text may be written as a number"
    assert read_arguments(of, '{"parcelid": "two\nlines"}') == {"parcelid": "two\nlines"}
    assert read_arguments(of, '{"parcelid": "a\\u0000b\\ud800"}') == {"parcelid": "a�b�"}


def test_what_is_required_has_its_declared_default_and_what_is_optional_has_none():
    of = function(
        parameter("n", "NUMBER", "7.80"), parameter("q", default="x"), optional=[parameter("m", "NUMBER", "3")]
    )
    assert read_arguments(of, "") == read_arguments(of, " {} ") == {"n": 7.8, "q": "x"}
    assert canonical(of, {"n": "1e2"}) == {"n": 100, "q": "x"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P1", "are not JSON"),
        ("[1]", "are not a JSON object"),
        ("null", "are not a JSON object"),
        ('{"id": "x"', "are not JSON"),
        ("{}", "needs the argument 'q'"),
        ('{"q": null}', "needs the argument 'q'"),
        ('{"q": "x", "z": 1}', "has no argument 'z'; its arguments: 'q', 'n', 'b'"),
        ('{"q": ["x"]}', """'q' must be a string, not ["x"]"""),
        ('{"q": {"a": 1}}', "'q' must be a string"),
        ('{"q": "x", "n": "many"}', "'n' must be a number"),
        ('{"q": "x", "n": true}', "'n' must be a number"),
        ('{"q": "x", "n": NaN}', "'n' must be a number"),
        ('{"q": "x", "n": 1e999}', "'n' must be a number"),
        ('{"q": "x", "n": "1e999"}', "'n' must be a number"),
        ('{"q": "x", "n": "' + "9" * 401 + '"}', "'n' must be a number"),
        ('{"q": "x", "n": ' + "9" * 5_000 + "}", "are not JSON"),
        ('{"q": "x", "b": "maybe"}', "'b' must be a boolean"),
        ('{"q": "x", "b": 1}', "'b' must be a boolean"),
        ('{"q": ' + "[" * 9_000 + "]" * 9_000 + "}", "deep"),
        ('{"q": "' + "x" * MAX_ARGUMENTS + '"}', "may have 20,000 characters"),
        ("__import__('os').getcwd()", "are not JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_reason(text, said):
    of = function(parameter("q"), optional=[parameter("n", "NUMBER"), parameter("b", "BOOLEAN")])
    assert said in refused(of, text)


def test_lists_and_objects_are_values_where_the_document_declares_another_type():
    of = function(parameter("o", "OBJECT"), parameter("d", "DATE (YYYY-MM-DD)"))
    assert read_arguments(of, '{"o": {"b": [1], "a": 2}, "d": "2024-01-02"}')["o"] == {"b": [1], "a": 2}
    assert "'d' must be" in refused(of, '{"o": 1, "d": [1]}')


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"return_type": "give_answer", "final_answer": "It is in Ombry."}', "It is in Ombry."),
        ('{"return_type": "give_up_and_restart"}', None),
        ('{"return_type": "give_up_and_restart", "final_answer": "no"}', None),
        ('{"Answer": "Ombry"}', "Ombry"),
        ('{"final_answer": {"town": "Ombry"}}', '{"town": "Ombry"}'),
        ('{"return_type": "give_answer", "final_answer": "a\nb"}', "a\nb"),
        # What follows is not JSON.
        ('{"return_type": "give_answer", "final_answer": "He said "yes" to\\nit."}', 'He said "yes" to\nit.'),
        ('{"final_answer": "He said "yes"", "return_type": "give_answer"}', 'He said "yes"'),
        ('{"return_type": "give_answer", "final_answer": "cut off in the mid', "cut off in the mid"),
        ("{'return_type': 'give_answer', 'final_answer': 'Ombry'}", "Ombry"),
        ("{'return_type': 'give_up_and_restart'", None),
    ],
)
def test_the_answer_of_finish_is_found(text, answer):
    assert read_finish(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "Ombry",
        '{"return_type": "give_answer"}',
        '{"return_type": "other", "final_answer": "x"}',
        "[]",
        '{"return_type": "give_answer" and so on',
        "{" * 10_000,
        '{"final_answer": "' + "x" * 30_000,
        '"' + " " * 19_000 + "x",
        '"return_type"' + " " * 19_000,
        ('"final_answer": "' + '" ' * 9_000),
    ],
)
def test_a_finish_without_an_answer_is_refused_or_read_but_never_breaks(text):
    try:
        assert read_finish(text) is not None
    except ActionError as error:
        assert error.kind == "invalid_arguments"


def test_any_text_is_read_or_refused():
    rng, of = random.Random(5), function(parameter("q"), optional=[parameter("n", "NUMBER"), parameter("o", "OBJECT")])
    pieces = [
        '"q"',
        '"n"',
        '"o"',
        ":",
        ",",
        "{",
        "}",
        "[",
        "]",
        '"',
        "1",
        "-",
        "e9",
        "true",
        "null",
        "\\u0000",
        "\\",
        " ",
        "\n",
        "#E1",
        "é",
        "\ud800",
        '"return_type"',
        '"final_answer"',
        '"give_answer"',
    ]
    for _ in range(3_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(14)))
        for read in (lambda text: json.dumps(read_arguments(of, text, {"#E1": {"text": "7"}})), read_finish):
            try:
                read(text)
            except ActionError as error:
                assert error.kind == "invalid_arguments"
                str(error).encode()
