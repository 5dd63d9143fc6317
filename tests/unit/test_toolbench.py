"""ToolBench: query files, what counts as relevant, tools that are found by words; on the published rows too."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from lumos_queue.actions.tools.functions import FINISH as FINISH_FUNCTION
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.shapes import read_shape
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import is_test, open_benchmark
from lumos_queue.benchmarks.toolbench.retrieval import Pool
from lumos_queue.benchmarks.toolbench.rows import FILES
from lumos_queue.builds.contamination import TestSplits
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Task
from tests.benchmark_files import write_json
from tests.gold_tools import FINISH, judge, other_calls, relevant_calls
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, call, entry

BENCHMARK = open_benchmark("toolbench")
ROW = {
    "query_id": 7,
    "query": "Where is my parcel P1?",
    "api_list": [LATEST, OFFICES],
    "relevant APIs": [["Swift Post", "Latest"], ["Swift Post", "Offices"], ["Swift Post", "Latest"]],
}


def read(folder, rows, split="I1-inst", **options):
    return list(BENCHMARK.read(write_json(folder, rows), split, **options))


def values(scores):
    return {one.metric: (one.value, one.of) for one in scores}


def test_a_row_is_a_task_with_its_functions_and_hides_what_is_relevant(tmp_path):
    (task,) = read(tmp_path, [ROW | {"query": ["Where is my parcel P1?\nSay it.", "Or not."]}])
    assert isinstance(task, Task) and (task.row, task.question) == ("7", "Where is my parcel P1?\nSay it.")
    assert [one.name for one in functions_of(task.inputs["functions"])] == [LATEST_NAME, "offices_for_swift_post"]
    assert task.inputs["functions"][0]["template_response"] == LATEST["template_response"]
    assert task.gold == {"relevant": [["Swift Post", "Latest"], ["Swift Post", "Offices"]]}, "each once"
    assert (
        "relevant" not in json.dumps(task.inputs)
        and BENCHMARK.gold_answer(task) == "Swift Post: Latest; Swift Post: Offices"
    )


def test_names_alone_are_functions_without_arguments(tmp_path):
    bare = {"category_name": "C", "tool_name": "T", "api_name": "A"}
    (task,) = read(tmp_path, [{"query": "Q?", "query_id": "q-1", "api_list": [bare]}])
    assert isinstance(task, Task) and task.gold == {"relevant": []} and task.row == "q-1"
    assert functions_of(task.inputs["functions"])[0].parameters == ()
    done, scores = judge(task, [call("a_for_t"), FINISH])
    assert all(one.ok for one in done) and values(scores) == {"answered": (1, 1)}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"query": ""}, "field 'query': empty"),
        ({"query": []}, "field 'query': empty"),
        ({"query": 3}, "field 'query': expected text"),
        ({"query": [3]}, r"field 'query\[0\]': expected text"),
        ({"query_id": 1.5}, "field 'query_id': expected a whole number"),
        ({"api_list": []}, "field 'api_list': empty"),
        ({"api_list": {}}, "field 'api_list': expected a list"),
        ({"api_list": None}, "field 'api_list': missing: read such rows with --option tools=retrieved:K"),
        ({"api_list": [7]}, r"field 'api_list\[0\]': expected an object"),
        ({"api_list": [{"api_name": "x"}]}, r"field 'api_list\[0\].tool_name': missing"),
        ({"api_list": [LATEST | {"method": 7}]}, r"field 'api_list\[0\].method': expected text"),
        ({"api_list": [LATEST | {"required_parameters": {}}]}, "required_parameters': expected a list"),
        ({"api_list": [LATEST | {"required_parameters": [7]}]}, r"required_parameters\[0\]': expected an object"),
        ({"api_list": [LATEST | {"optional_parameters": [{}]}]}, r"optional_parameters\[0\].name': missing"),
        ({"relevant APIs": [["Swift Post", "Other"]]}, "'Other' of 'Swift Post' is not in api_list"),
        ({"relevant APIs": [["Swift Post"]]}, "expected the names of a tool and of an API"),
        ({"relevant APIs": 7}, "field 'relevant APIs': expected a list"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_read(tmp_path, changed, said):
    good, bad = read(tmp_path, [ROW, ROW | {"query_id": 8} | changed])
    assert isinstance(good, Task) and isinstance(bad, BadRow) and bad.row == 2
    with pytest.raises(BadRow, match=said):
        raise bad


@pytest.mark.parametrize("content", [{"question": "x"}, [{"question": "x"}], [], ["x"], 7])
def test_another_format_is_refused_as_a_whole(tmp_path, content):
    with pytest.raises(SpecError, match=r"data\.json") as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)


def test_a_folder_has_a_file_for_each_split(tmp_path):
    write_json(tmp_path, [ROW], "G2_category.json")
    (task,) = BENCHMARK.read(tmp_path, "I2-cat")
    assert isinstance(task, Task) and BENCHMARK.notes == ["1 rows; StableToolBench has 124 of I2-cat"]
    with pytest.raises(SpecError, match=r"no file 'G1_tool.json' for the split 'I1-tool'"):
        list(BENCHMARK.read(tmp_path, "I1-tool"))
    with pytest.raises(SpecError, match="give its path with --data"):
        list(BENCHMARK.read(None, "I1-tool"))


def test_tools_are_found_for_rows_that_list_none(tmp_path):
    weather = entry("Forecast", tool_name="Sky", category_name="Weather", api_description="Rain and sun of a town")
    rows = [ROW, {"query_id": 8, "query": "Will there be rain?"}, {"query_id": 9, "query": "Q?", "api_list": [weather]}]
    tasks = read(tmp_path, rows, tools="retrieved:1")
    assert [task.inputs["functions"][0]["api_name"] for task in tasks[1:]] == ["Forecast", "Latest"]
    assert "1 of 3 APIs whose words fit" in BENCHMARK.notes[1]
    assert len(read(tmp_path, rows, tools="retrieved:9")[0].inputs["functions"]) == 3
    assert [type(task) for task in read(tmp_path, rows)] == [Task, BadRow, Task]
    with pytest.raises(SpecError, match="lists APIs"):
        read(tmp_path, rows[1:2], tools="retrieved:1")


@pytest.mark.parametrize("said", ["", "retrieved", "retrieved:0", "retrieved:101", "retrieved:x", "retrieved:²", "all"])
def test_tools_that_cannot_be_are_refused(tmp_path, said):
    with pytest.raises(SpecError, match="cannot be read: expected oracle, or retrieved:K"):
        read(tmp_path, [ROW], tools=said)


def test_only_relevant_apis_that_were_called_with_success_count(tmp_path):
    (task,) = read(tmp_path, [ROW])
    good, bad = call(LATEST_NAME, {"parcelid": "P1"}), call(LATEST_NAME)
    for actions, answered, share in [
        ([], 0, 0),
        ([FINISH], 1, 0),
        ([good], 0, 0.5),
        ([bad, bad], 0, 0),
        ([good, good, FINISH], 1, 0.5),
        ([good, call("offices_for_swift_post"), FINISH], 1, 1),
        ([call("Finish", {"Answer": "  "})], 0, 0),
        ([call("Finish", {"return_type": "give_up_and_restart"})], 0, 0),
        ([call("Latest"), call("Finish")], 0, 0),
    ]:
        _, scores = judge(task, actions)
        assert values(scores) == {"answered": (answered, 1), "relevant_apis": (share, 2)}, actions
    for answer, answered in ((None, 0), (" ", 0), ("In Ombry.", 1)):  # a solver's, which calls no Finish
        found = values(BENCHMARK.score(task, EpisodeResult(answer)))
        assert found == {"answered": (answered, 1), "relevant_apis": (0, 2)}


@pytest.fixture(scope="module")
def queries(shared_data):
    folder = shared_data / "stabletoolbench" / "solvable_queries" / "test_instruction"
    return {split: list(BENCHMARK.read(folder, split)) for split in BENCHMARK.test_splits}


@pytest.fixture(scope="module")
def tasks(queries):
    return [task for listed in queries.values() for task in listed]


def test_all_published_queries_are_read(queries, tasks):
    assert [len(listed) for listed in queries.values()] == [34] * 6 and all(isinstance(task, Task) for task in tasks)
    assert sum(len(task.inputs["functions"]) for task in tasks) == 1_174


def test_all_published_apis_have_names_of_their_own(tasks):
    named = {task.row: [one.name for one in functions_of(task.inputs["functions"])] for task in tasks}
    assert sum(map(len, named.values())) == sum(len(set(names)) for names in named.values()) == 1_174
    assert max(len(name) for names in named.values() for name in names) == 64
    told_apart = {
        row
        for row, names in named.items()
        if any(
            name[-9] == "_" and len(name) == 64 and name[-8:].isalnum() and set(name[-8:]) <= set("0123456789abcdef")
            for name in names
        )
    }
    assert told_apart == {"9039", "27543"}


def test_published_schemas_keep_optional_arguments_and_numbers_that_are_not_whole(tasks):
    schemas = [one.schema()["parameters"] for task in tasks for one in functions_of(task.inputs["functions"])]
    assert sum(bool(one["optional"]) and not one["required"] for one in schemas) == 123
    examples = [
        each["example_value"]
        for one in schemas
        for each in one["properties"].values()
        if each["type"] == "number" and "example_value" in each
    ]
    assert sum(isinstance(one, float) for one in examples) == 36
    assert {each["type"] for one in schemas for each in one["properties"].values()} == {"number", "boolean", "string"}


def test_two_thirds_of_the_published_apis_document_their_answers(tasks):
    shapes = [read_shape(one.template) for task in tasks for one in functions_of(task.inputs["functions"])]
    cut = [one for task in tasks for one in task.inputs["functions"] if isinstance(one.get("template_response"), str)]
    assert sum(shape is not None for shape in shapes) == 776 and len(cut) == 67


def test_an_agent_that_calls_what_is_relevant_gets_all_of_it_and_one_that_does_not_gets_nothing(tasks):
    gold, wrong, statuses, wrong_statuses, relevant = 0.0, 0.0, Counter(), Counter(), 0
    for task in tasks:
        done, (answered, share) = judge(task, [*relevant_calls(task), FINISH])
        statuses.update(one.status for one in done[:-1])
        relevant, gold = relevant + share.of, gold + share.value * share.of
        assert answered.value == 1
        done, (answered, share) = judge(task, other_calls(task))
        wrong_statuses.update(one.status for one in done)
        wrong += share.value + answered.value
    assert (relevant, round(gold), statuses) == (499, 499, {"ok": 499})
    assert wrong == 0 and wrong_statuses == {"ok": 1_174 - 499, "unknown_action": 499}


def test_the_published_row_that_names_an_api_twice_is_known(shared_data):
    named = Counter()
    for file in sorted((shared_data / "stabletoolbench/solvable_queries/test_instruction").glob("*.json")):
        for row in json.loads(file.read_text()):
            named.update((row["query_id"], *pair) for pair in row["relevant APIs"])
    assert sum(named.values()) == 500 and [key[0] for key, times in named.items() if times > 1] == [3990]


def test_relevant_apis_are_found_by_words_among_all(tasks):
    pool = Pool([one for task in tasks for one in task.inputs["functions"]])
    assert len(pool.apis) == 848
    found = sum(
        [one["tool_name"], one["api_name"]] in task.gold["relevant"]
        for task in tasks
        for one in pool.best(task.question, 5)
    )
    assert found / 499 >= 0.7, "measured: 360, that is 72 %"


def test_published_examples_are_read(shared_data):
    folder = shared_data / "toolbench" / "instruction"
    for name, rows in (("G1_query", 4), ("G2_query", 2), ("G3_query", 1), ("inference_query_demo", 1)):
        found = list(BENCHMARK.read(folder / f"{name}.json", "I1-inst"))
        assert len(found) == rows and all(isinstance(row, Task) for row in found)
    (row,) = BENCHMARK.read(folder / "inference_query_demo_open_domain.json", "I1-inst")
    assert isinstance(row, BadRow) and "tools=retrieved:K" in str(row)


def test_finish_is_no_function_of_a_published_task(tasks):
    assert all(one.name != FINISH_FUNCTION.name for task in tasks for one in functions_of(task.inputs["functions"]))


def test_its_six_files_are_test_data_and_are_compared_with_as_one(tmp_path):
    for split, name in FILES.items():
        row = {"query_id": 1, "query": f"Where is the parcel of {split}, I ask?", "api_list": [LATEST]}
        (tmp_path / name).write_text(json.dumps([row]))
    assert all(is_test("toolbench", split) for split in FILES) and not is_test("toolbench", "train")
    assert [is_test("mind2web", split) for split in ("train", "test_task", "test_domain")] == [False, True, True]
    assert is_test("mylab", "test") and not is_test("mylab", "I1-inst")
    given = TestSplits((f"toolbench:{tmp_path}",), KnownBenchmarks())
    assert [one.rows for one in given.splits] == [6] and given.find("Where is the parcel of I2-cat, I ask?")
    given = TestSplits((f"toolbench:{tmp_path / FILES['I3-inst']}",), KnownBenchmarks())
    assert [one.rows for one in given.splits] == [1]
    with pytest.raises(SpecError, match="give the file of the split 'train'"):
        list(BENCHMARK.read(tmp_path, "train"))
    assert len(list(BENCHMARK.read(tmp_path / FILES["I3-inst"], "train"))) == 1
