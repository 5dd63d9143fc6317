"""ToolBench's answer files: taken apart and made again, their messages, ToolEval's format, and files that are none."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from lumos_queue.actions.tools.answers import envelope, observe
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.compat.toolbench import answer_reading, node_checks
from lumos_queue.compat.toolbench.answer_file import AnswerFile, header_of, with_decisions
from lumos_queue.compat.toolbench.answer_reading import answer_file_of, read_answer_file
from lumos_queue.compat.toolbench.differences import find_changes, make_changes
from lumos_queue.compat.toolbench.messages import SENTINEL, Wording, messages_of
from lumos_queue.compat.toolbench.recorded_answers import answers_of, read_observation
from lumos_queue.compat.toolbench.schemas import entries_of, find_differing_names
from lumos_queue.compat.toolbench.tooleval import tooleval_of
from lumos_queue.compat.toolbench.tree_writing import NodeStyle
from lumos_queue.compat.toolbench.trees import ROOT, RecordedDecision
from lumos_queue.errors import SpecError
from tests.answer_files import FUNCTIONS, chain_file, tree_file
from tests.recorded_search import answer_files


def read(content: Any, tmp_path) -> AnswerFile:
    path = tmp_path / "7_DFS.json"
    path.write_text(json.dumps(content) if not isinstance(content, str) else content)
    return read_answer_file(path)


# --- the published files


def test_files_are_made_again_without_any_change(shared_data):
    for query, content in answer_files(shared_data):
        file = answer_file_of(f"{query}_DFS.json", content)
        assert not file.changes and file.content() == content, query
        kept = json.loads(json.dumps(header_of(file)))
        assert with_decisions(kept, file.query, file.decisions).content() == content


def test_messages_are_made_again_from_decisions(shared_data):
    count = 0
    for query, content in answer_files(shared_data):
        wanted = content["answer_generation"].get("train_messages", [])
        assert answer_file_of(f"{query}_DFS.json", content).messages() == wanted, query
        count += len(wanted)
    assert count == 15


def test_functions_keep_their_names(shared_data):
    for _, content in answer_files(shared_data):
        schemas = content["answer_generation"]["function"]
        assert not find_differing_names(schemas)
        assert [one.name for one in functions_of(entries_of(schemas))] == [one["name"] for one in schemas[:-1]]


def test_recorded_answers_are_shown_as_they_were(shared_data):
    """But for letters that were written as escapes; of a cut one less is shown where there were such."""
    same = escaped = 0
    for query, content in answer_files(shared_data):
        file = answer_file_of(f"{query}_DFS.json", content)
        known = {one.name for one in functions_of(entries_of(file.functions))}
        for one in file.decisions:
            if one.name in known:
                shown = observe(envelope(*read_observation(one.observation)), 0, 1024)[0]
                same += shown == one.observation
                escaped += shown != one.observation and "\\u" in one.observation
    assert (same, escaped) == (77, 14)


def test_requests_with_several_answers(shared_data):
    found: dict[str, set[str]] = {}
    for query, content in answer_files(shared_data):
        file = answer_file_of(f"{query}_DFS.json", content)
        for one in answers_of(file.decisions, functions_of(entries_of(file.functions))):
            key = json.dumps([one["tool"], one["api"], one["arguments"]], sort_keys=True)
            found.setdefault(key, set()).add(json.dumps([one["error"], one["response"]]))
    assert (len(found), sum(len(one) > 1 for one in found.values())) == (30, 3)
    # the 31st names a function that was not listed; ToolBench took it for one whose name ends so


def test_tooleval_counts_every_node_of_the_judged_path(shared_data):
    for query, content in answer_files(shared_data):
        entry = tooleval_of(answer_file_of(f"{query}_DFS.json", content))
        answer, nodes = entry["answer"], []
        level = answer["answer_details"]
        while level:
            assert len(level) == 1
            nodes.append(level[0])
            level = level[0]["next"]
        assert [one["role"] for one in nodes[:2]] == ["system", "user"] and len(nodes) == answer["total_steps"]
        assert entry["available_tools"] == content["answer_generation"]["function"]
        assert answer["final_answer"] == content["answer_generation"]["final_answer"]
        assert [one["message"] for one in nodes[:2]] == ["", ""], "as in ToolBench's files"
        if answer["final_answer"]:
            assert nodes[-1]["message"]["name"] == "Finish" and nodes[-1]["message"]["response"] == ""


# --- invented files


@pytest.mark.parametrize("make", [tree_file, chain_file])
def test_invented_files_are_made_again(make, tmp_path):
    content = make()
    file = read(content, tmp_path)
    assert file.content() == content and not file.changes
    assert [one.name for one in file.decisions] == ["look_for_shop", "", "Finish", "nosuch", "Finish"]
    assert [one.before for one in file.decisions] == [ROOT, 0, 1, 0 if make is tree_file else ROOT, 3]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["tree", "tree", "children", 0, "Elo"], 3),
        (["tree", "tree", "children", 0, "children", 0, "io_state", "a"], 1),
        (["answer_generation", "finish_type"], "none"),
        (["win"], None),
        (["more"], [1, {"x": []}]),
        (["tree", "size"], 5.0),
    ],
)
def test_what_a_file_says_otherwise_is_kept(path, value, tmp_path):
    content = make_changes(tree_file(), [[path, value]])
    file = read(content, tmp_path)
    assert file.content() == content and [one[0] for one in file.changes] == [path]


def test_a_name_of_no_function_is_a_sentinel_in_messages_alone(tmp_path):
    file = read(chain_file(), tmp_path)
    assert file.decisions[3].name == "nosuch"
    named = [one["function_call"]["name"] for one in file.messages()[-1] if "function_call" in one]
    assert named == [SENTINEL, "Finish"]


def test_the_last_of_several_messages_that_were_sent_once_stays():
    """a; b beside it; under b c, and d beside c; under d an answer: told twice, the later lists hold the second."""
    call = {"name": "f", "arguments": "{}", "observation": "o", "code": 0}
    made = [
        RecordedDecision(ROOT, "a", **call),
        RecordedDecision(ROOT, "b", **call),
        RecordedDecision(1, "c", **call),
        RecordedDecision(1, "d", **call),
        RecordedDecision(3, "", "Finish", "{}", "", 3),
    ]
    lists = messages_of(made, 4, Wording("s", "u", {1: "first", 3: "second"}))
    once = [[one["content"] for one in messages if one.get("valid") is False] for messages in lists]
    assert once == [["first"], ["second"], ["second"]]


def test_own_files_say_which_nodes_end():
    made = [RecordedDecision(ROOT, "", "Finish", "{}", "", 3)]
    content = AnswerFile("1_x.json", "tree", "q", FUNCTIONS, made, 0, style=NodeStyle()).content()
    assert content["tree"]["tree"]["children"][0]["children"][0]["is_terminal"] is True


def broken(path: list[Any], *value: Any) -> Any:
    return make_changes(tree_file(), [[path, *value]])


def deep(levels: int) -> str:
    return '{"answer_generation": ' + "[" * levels + "]" * levels + "}"


FIRST = ["tree", "tree", "children", 0]
TWO = tree_file()["tree"]["tree"]["children"] * 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Expecting value"),
        ("[]", "expected an object"),
        ("{}", "answer_generation"),
        (deep(50_000), "nested"),
        (deep(150), "nested"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        (broken(["tree"]), "trys"),
        (broken(["tree", "tree", "children"], []), "no decision"),
        (broken([*FIRST, "node_type"], "Answer"), "node_type"),
        (broken([*FIRST, "node_type"], ["Thought"]), "node_type"),
        (broken([*FIRST, "node_type"], "Action Input"), "Action Input after Action Input"),
        (broken([*FIRST, "children"], {}), "expected a list"),
        (broken([*FIRST, "children"], tree_file()["tree"]["tree"]["children"][0]["children"] * 2), "one input"),
        (broken([*FIRST, "children"], []), "one input"),
        (broken([*FIRST, "children", 0, "children", 1, "children", 0, "children", 0, "children"], TWO), "one child"),
        (broken([*FIRST, "description"], None), "missing"),
        (broken([*FIRST, "description"], 3), "expected text"),
        (broken([*FIRST, "expand_num"], "1"), "whole number"),
        (broken([*FIRST, "pruned"]), "missing"),
        (broken(["answer_generation", "query"], ["q"]), "query"),
        (broken(["answer_generation", "function"], {}), "expected a list"),
        (broken(["answer_generation", "train_messages"], [[1]]), "train_messages"),
        (broken(["forward_args"], 3), "forward_args"),
        (broken(["answer_generation", "total_tokens"], "x"), "whole number"),
    ],
)
def test_a_file_that_is_something_else_is_refused_in_one_line(content, problem, tmp_path):
    with pytest.raises(SpecError, match=problem) as refused:
        read(content, tmp_path)
    assert "\n" not in str(refused.value) and "7_DFS.json" in str(refused.value) and len(str(refused.value)) < 500


def test_very_many_nodes_are_refused(tmp_path):
    content = chain_file()
    content["trys"][0]["chain"] = [content["trys"][0]["chain"][2]] * 20_001
    with pytest.raises(SpecError, match="20,000 nodes"):
        read(content, tmp_path)
    content["trys"][0]["chain"] = content["trys"][0]["chain"][:5_000]
    assert len(read(content, tmp_path).decisions) == 5_003 - 1


def test_a_chain_ends_with_an_input(tmp_path):
    content = chain_file()
    del content["trys"][0]["chain"][-1]
    with pytest.raises(SpecError, match="no input"):
        read(content, tmp_path)


@pytest.mark.parametrize(
    ("where", "name", "problem"),
    [(node_checks, "MAX_NODES", "4 nodes"), (answer_reading, "MAX_BYTES", "4 bytes")],
)
def test_sizes_are_bounded(where, name, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(where, name, 4)
    with pytest.raises(SpecError, match=problem):
        read(tree_file(), tmp_path)


def test_the_number_of_functions_is_bounded(tmp_path):
    with pytest.raises(SpecError, match="1,000 functions"):
        read(broken(["answer_generation", "function"], FUNCTIONS * 501), tmp_path)


def test_after_a_reply_without_a_call_its_list_comes_twice():
    made = [RecordedDecision(ROOT, "hm"), RecordedDecision(0, "now", "Finish", "{}", "", 3)]
    lists = messages_of(made, 1, Wording("s", "u"))
    assert [len(messages) for messages in lists] == [3, 3, 4] and lists[0] == lists[1]


def test_thoughts_beside_calls_are_judged_only_without_an_end(tmp_path):
    def roles(file: AnswerFile) -> list[str]:
        node, found = tooleval_of(file)["answer"]["answer_details"][0], []
        while True:
            found.append(node["role"])
            if not node["next"]:
                return found
            node = node["next"][0]

    file = read(tree_file(), tmp_path)
    assert roles(file) == ["system", "user", "tool", "tool", "tool"]
    assert roles(replace(file, chosen=None)) == ["system", "user", "tool", "tool", "assistant", "tool"]


def test_schemas_become_entries():
    schema = deepcopy(FUNCTIONS[0])
    schema["parameters"]["properties"]["most"] = {"type": "integer", "description": "how many", "example_value": 5}
    (made,) = functions_of(entries_of([schema, 3, {"name": 4}, FUNCTIONS[1]]))
    assert (made.name, made.tool, made.api) == ("look_for_shop", "shop", "look")
    assert [(one.name, one.type, one.default, one.required) for one in made.parameters] == [
        ("thing", "string", "pen", True),
        ("most", "number", 5, False),
    ]
    assert made.description.endswith("Looks things up")
    for parameters in (None, [], {"properties": 3}, {"properties": {"x": 3}, "required": 4}):
        assert functions_of(entries_of([{"name": "f", "description": 3, "parameters": parameters}]))[0].name == "f"


@pytest.mark.parametrize("lists", [[[]], [[{"role": "assistant"}]], [[{"role": "x", "content": 4}] * 3], [[], []]])
def test_messages_of_other_shapes_are_kept(lists, tmp_path):
    content = broken(["answer_generation", "train_messages"], lists)
    assert read(content, tmp_path).content() == content


def test_changes_tell_numbers_and_truths_apart():
    for one, other in [(1, 1.0), (1, True), (0, False), ("1", 1), ([1], [1, 2]), ({}, []), ({"a": 1}, {"b": 1})]:
        changes = find_changes({"x": one}, {"x": other})
        assert changes and repr(make_changes({"x": one}, changes)) == repr({"x": other})
    assert find_changes(tree_file(), deepcopy(tree_file())) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"error": "e", "response": "r"}', ("e", "r")),
        ('{"error": "", "response": {"a": 1}}', ("", {"a": 1})),
        ('{"error": "", "response": "ab\\u00e9 c...', ("", "abé c")),
        ('{"error": "", "response": "ab\\u00...', ("", "ab")),
        ('{"error": "", "response": "ab\\...', ("", "ab")),
        ('{"error": "", "response": "ab\\\\...', ("", "ab\\")),
        ('{"error": "", "response": "no end', ("", '{"error": "", "response": "no end')),
        ("plain", ("", "plain")),
        ("[" * 100_000, ("", "[" * 100_000)),
    ],
)
def test_observations_are_read(text, wanted):
    assert read_observation(text) == wanted


def test_names_that_are_none_are_not_kept():
    def named(*names: Any) -> list[str]:
        return [
            one.name for one in functions_of([{"api_name": f"a{n}", "function_name": x} for n, x in enumerate(names)])
        ]

    assert named("kept", "Finish", "x" * 65, "a b", 7) == ["kept", "a1_for_", "a2_for_", "a3_for_", "a4_for_"]
    assert named("same", "same", "a3_for_", "mine") == ["a0_for_", "a1_for_", "a2_for_", "mine"]
