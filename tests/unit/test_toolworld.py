"""ToolWorld's tasks: the same for the same seed, tools that are held out, what a task is made of, and bad options."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from itertools import islice

import pytest

from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.actions.tools.world import ANSWERS, FAULTS, GONE, LASTING, MISSPELT, read_world
from lumos_queue.benchmarks.registry import is_test, open_benchmark
from lumos_queue.benchmarks.toolbench.retrieval import Pool
from lumos_queue.benchmarks.toolworld.catalogue import COLLECTIONS, DESCRIPTIONS, read_description, tools
from lumos_queue.benchmarks.toolworld.dials import OPTIONS, SEEDS, SIZES, seeds_of
from lumos_queue.errors import SpecError
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.tool_agent import open_functions, request
from lumos_queue.records import Task

WORLD = open_benchmark("toolworld")
TESTS = [one for one in SIZES if one != "train"]


def tasks(split: str, many: int, **options: str) -> list[Task]:
    return [one for one in islice(WORLD.read(None, split, **options), many) if isinstance(one, Task)]


def links(task: Task):
    return [link for part in task.inputs["world"]["parts"] for link in part]


def apis(task: Task):
    return [one for link in links(task) for one in link["apis"]]


def offered(found: list[Task], name: str) -> set[str]:
    return {entry[name] for task in found for entry in task.inputs["functions"]}


def as_bytes(found: list[Task]) -> bytes:
    return json.dumps([asdict(one) for one in found], sort_keys=True).encode()


def test_a_seed_makes_the_same_bytes_everywhere_and_another_seed_makes_others():
    found = tasks("I2-inst", 50, faults="0.5", traps="0.5", ratio="1.2", context="20000")
    assert as_bytes(tasks("I2-inst", 50, faults="0.5", traps="0.5", ratio="1.2", context="20000")) == as_bytes(found)
    assert {one.question for one in found}.isdisjoint(one.question for one in tasks("I2-inst", 50, seed="4001"))
    digest = hashlib.sha256(as_bytes(found)).hexdigest()
    assert digest.startswith("6b0eef13e858a6e5"), "tasks that were made before are others now"


def test_without_descriptions_the_tasks_are_those_of_earlier_releases():
    found = tasks("I2-inst", 50, faults="0.5", traps="0.5", ratio="1.2", context="20000", descriptions="no")
    assert hashlib.sha256(as_bytes(found)).hexdigest().startswith("b596be66cdc0dbeb")


def test_every_document_describes_its_tool():
    for task in tasks("I3-inst", 30, faults="1"):
        functions = functions_of_task(task).values()
        assert all(one.tool_description and one.parameters[0].description for one in functions)
        listed = request(task, FunctionList(tuple(functions)))
        assert all(f". {one.tool}: {one.tool_description}\n" in listed for one in functions)


def test_dials_change_what_goes_wrong_and_not_what_is_asked():
    plain = tasks("I3-inst", 30)
    other = tasks("I3-inst", 30, faults="1", traps="1", unsolvable="1", ratio="2", context="20000")
    assert [one.question for one in plain] == [one.question for one in other]
    assert [[(one["tool"], one["api"]) for one in apis(task)] for task in plain] == [
        [(one["tool"], one["api"]) for one in apis(task)] for task in other
    ]


def test_no_tool_and_no_category_that_is_held_out_is_in_training():
    train = tasks("train", 600)
    known, categories = offered(train, "tool_name"), offered(train, "category_name")
    for split in TESTS:
        found = tasks(split, 200)
        assert {one.question for one in found}.isdisjoint(one.question for one in train)
        if split.endswith("-inst"):
            assert offered(found, "tool_name") <= known, split
        else:
            assert not offered(found, "tool_name") & known, split
        assert bool(offered(found, "category_name") & categories) == (not split.endswith("-cat")), split
    everything = {one.name for found in tools().values() for one in found}
    assert len(everything) == 9 * 6 and len(known) == 6 * 4


def test_a_word_of_the_catalogue_names_one_kind_or_one_attribute():
    words = [word for found in COLLECTIONS.values() for one in found for word in (*one.kinds, *one.attributes)]
    assert len(set(words)) == len(words) == 9 * (4 + 6)


def test_subsets_offer_the_tools_of_one_tool_one_category_or_one_collection():
    collection_of = {one.name: name for name, found in COLLECTIONS.items() for one in found}
    for split in TESTS:
        for task in tasks(split, 40):
            categories = offered([task], "category_name")
            assert len({collection_of[one] for one in categories}) == 1
            assert (len(offered([task], "tool_name")) == 1) == split.startswith("I1")
            assert (len(categories) == 1) == (not split.startswith("I3"))


def test_each_link_has_two_apis_of_other_names_and_two_look_alikes():
    for split in SIZES:
        for task in tasks(split, 40):
            for link in links(task):
                kinds = [one["kind"] for one in link["apis"]]
                names = {one["api"] for one in link["apis"]}
                assert kinds.count(ANSWERS) == 2 and len(kinds) == len(names) == 4
            assert len({(one["tool"], one["api"]) for one in apis(task)}) == len(apis(task))
            assert len(task.inputs["functions"]) == len(apis(task))
            assert len(functions_of(task.inputs["functions"])) == len(apis(task))


def test_gold_calls_lead_from_the_question_to_the_answer():
    for task in tasks("train", 100, unsolvable="0"):
        for part, made in zip(task.gold["parts"], task.inputs["world"]["parts"], strict=True):
            assert part["asked"] in task.question and part["asked"].endswith(part["calls"][0]["argument"])
            for one, following in zip(part["calls"], part["calls"][1:], strict=False):
                assert one["value"] == following["argument"]
            assert part["calls"][-1]["value"] == part["answer"] and len(part["calls"]) == len(made)
            offered_apis = {(one["tool_name"], one["api_name"]) for one in task.inputs["functions"]}
            assert all(tuple(api) in offered_apis for call in part["calls"] for api in call["apis"])


@pytest.mark.parametrize("digits", [3, 4, 5])
def test_numbers_of_a_task_are_all_different_and_have_the_digits_asked_for(digits):
    for task in tasks("train", 100, digits=str(digits)):
        numbers = [
            text.rpartition("-")[2] for link in links(task) for text in (link["value"], link["former"], *link["other"])
        ]
        assert len(set(numbers)) == len(numbers) and {len(one) for one in numbers} == {digits}


def test_with_faults_one_api_of_a_link_fails_and_another_works():
    seen = set()
    for task in tasks("I2-inst", 60, faults="1", unsolvable="0"):
        for link in links(task):
            faults = [one.get("fault", "") for one in link["apis"] if one["kind"] == ANSWERS]
            assert sorted(map(bool, faults)) == [False, True]
            seen |= {one for one in faults if one}
        assert all(not one.get("fault") for one in apis(task) if one["kind"] != ANSWERS)
    assert seen == set(FAULTS)


def test_a_part_that_cannot_be_answered_has_a_link_whose_apis_all_fail_for_good():
    found = tasks("I1-inst", 200, faults="0.5")
    parts = [
        (part, made)
        for task in found
        for part, made in zip(task.gold["parts"], task.inputs["world"]["parts"], strict=True)
    ]
    share = sum(part["answer"] is None for part, _ in parts) / len(parts)
    assert 0.05 < share < 0.16
    for part, made in parts:
        broken = [all(one.get("fault") in LASTING for one in link["apis"] if one["kind"] == ANSWERS) for link in made]
        assert sum(broken) == (part["answer"] is None)
        if part["answer"] is None:
            assert len(part["calls"]) == broken.index(True)


def test_a_misspelt_parameter_is_wrong_in_the_document_alone():
    for task in tasks("I1-cat", 60, faults="1", unsolvable="0"):
        documents = {(one["tool_name"], one["api_name"]): one for one in task.inputs["functions"]}
        for link in links(task):
            for one in link["apis"]:
                said = documents[one["tool"], one["api"]]["required_parameters"][0]["name"]
                assert (said == f"{link['of']}_id") == (one.get("fault") != MISSPELT)
                assert one.get("parameter", f"{link['of']}_id") == f"{link['of']}_id"


def test_answers_are_as_long_as_the_ratio_of_the_gold_transcript_asks():
    for ratio in ("0.8", "1.2"):
        for task in tasks("I2-inst", 30, parts="2", links="3", unsolvable="0", ratio=ratio, context="12000"):
            world, functions = read_world(task.inputs["world"]), {}
            for one in open_functions(task):
                functions[one.tool, one.api] = one
            size = len(request(task, FunctionList(open_functions(task))))
            for call in (one for part in task.gold["parts"] for one in part["calls"]):
                function = functions[tuple(call["apis"][0])]
                answer = world.answer(function, {"id": call["argument"]}, 0, False)
                size += len(json.dumps({"error": "", "response": answer.response})) + len(function.name)
            assert abs(size / 12_000 - float(ratio)) < 0.07


def test_what_a_document_says_can_be_read_back():
    for kind, texts in DESCRIPTIONS.items():
        for text in texts:
            assert read_description(f"A tool. {text.format(a='depot', b='driver')}") == (kind, "depot", "driver")
    assert read_description("Tells the weather.") is None


def test_the_retriever_of_toolbench_finds_the_relevant_apis_of_a_task():
    found = tasks("I2-inst", 20)
    pool = Pool([entry for task in found for entry in task.inputs["functions"]])
    hits = total = 0
    for task in found:
        best = {(one["tool_name"], one["api_name"]) for one in pool.best(task.question, 40)}
        hits, total = (
            hits + sum(tuple(one) in best for one in task.gold["relevant"]),
            total + len(task.gold["relevant"]),
        )
    assert hits / total > 0.6


def test_every_split_but_train_is_for_testing_and_has_seeds_of_its_own():
    assert [one for one in SIZES if is_test("toolworld", one)] == TESTS
    seeds = [seed for split in SIZES for seed in seeds_of(split)]
    assert len(seeds) == len(set(seeds)) == len(SIZES) * SEEDS


BAD = [
    ({"faults": "1.5"}, "--option faults=1.5 cannot be read: expected a number from 0 to 1."),
    ({"traps": "-0.1"}, "--option traps=-0.1 cannot be read: expected a number from 0 to 1."),
    ({"unsolvable": "nan"}, "--option unsolvable=nan cannot be read: expected a number from 0 to 1."),
    ({"ratio": "11", "context": "900"}, "--option ratio=11 cannot be read: expected a number from 0 to 10."),
    ({"parts": "0"}, "--option parts=0 cannot be read: expected a whole number from 1 to 3, or a range such as 1-3."),
    ({"links": "3-2"}, "--option links=3-2 cannot be read: expected a whole number from 1 to 3, or a range such as"),
    ({"apis": "0"}, "--option apis=0 cannot be read: expected a whole number from 1 to 4: without an API no link can"),
    ({"lookalikes": "4"}, "--option lookalikes=4 cannot be read: expected a whole number from 0 to 3."),
    ({"digits": "2"}, "--option digits=2 cannot be read: expected a whole number from 3 to 5."),
    ({"context": "12000"}, "--option context=… needs --option ratio=…: give both options, or neither."),
    ({"ratio": "1"}, "--option ratio=… needs --option context=…: give both options, or neither."),
    ({"faults": "1", "apis": "1"}, "needs links with a second API that works: give --option apis=2 or more."),
    ({"traps": "1", "lookalikes": "0"}, "but lookalikes=0 leaves no look-alikes: give only one of these options."),
    ({"seed": "0"}, "--option seed=0 is a seed of 'train', and no two splits may have the same tasks: 'I1-inst' has"),
    ({"seed": "999999"}, "--option seed=999999 is no split's seed: 'I1-inst' has the seeds 1000 to 1999."),
    ({"seed": "１０００"}, "cannot be read: expected a whole number from 1,000 to 1,999 for 'I1-inst'."),
    ({"depth": "3"}, "No option of toolworld called 'depth'. Choose one of: "),
]


@pytest.mark.parametrize(("options", "said"), BAD, ids=[" ".join(one) for one, _ in BAD])
def test_a_dial_that_cannot_be_is_refused_in_one_line(options, said):
    with pytest.raises(SpecError) as refused:
        WORLD.read(None, "I1-inst", **options)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_context_smaller_than_the_tool_list_is_refused_with_both_sizes():
    with pytest.raises(SpecError, match=r"--option context=900 is too small for the request of task I1-inst-1000-1, "):
        tasks("I1-inst", 1, ratio="1", context="900", parts="3")


def test_a_path_and_an_unknown_split_are_refused(tmp_path):
    with pytest.raises(SpecError, match="The tasks of 'toolworld' are generated: leave out --data"):
        WORLD.read(tmp_path, "train")
    with pytest.raises(SpecError, match="No split of toolworld called 'I2-tool'"):
        WORLD.read(None, "I2-tool")


def test_every_option_is_explained_and_read():
    for name in OPTIONS:
        with pytest.raises(SpecError, match=f"option {name}=x"):
            WORLD.read(None, "train", **{name: "x"})


def bad_world(**changes):
    task = tasks("I1-inst", 1)[0]
    world = json.loads(json.dumps(task.inputs["world"]))
    link = world["parts"][0][0]
    link.update(changes)
    return world


def test_a_world_that_is_none_is_told_with_its_place():
    cases = [
        (None, "it is not an object"),
        ({"parts": 3}, "parts: expected a list"),
        ({"parts": [3]}, "part 1: expected a list"),
        ({"parts": [["x"]]}, "part 1, link 1: 'of' is missing, or no text"),
        ({"parts": [], "filler": -1}, "filler is -1: expected a whole number from 0 to"),
        (bad_world(value=3), "part 1, link 1: 'value' is missing, or no text"),
        (bad_world(other=["x"]), "part 1, link 1: other has 1 entries: expected an id and a value"),
        (bad_world(apis=[{"tool": "x"}]), "part 1, link 1: 'api' is missing, or no text"),
        (bad_world(apis=[{"tool": "x", "api": "y"}] * 2), "part 1, link 1: the API 'y' of 'x' is there twice"),
        (bad_world(apis=[{"tool": "x", "api": "y", "fault": "lost"}]), "'lost' is not a fault: expected one of gone"),
        (bad_world(apis=[{"tool": "x", "api": "y", "kind": []}]), "[] is not a kind of API: expected answers"),
        (bad_world(apis=[{"tool": "x", "api": "y", "fault": MISSPELT}]), "'parameter' is missing, or no text"),
    ]
    for value, said in cases:
        with pytest.raises(ValueError) as refused:
            read_world(value)
        assert said in str(refused.value)
    assert read_world(bad_world(apis=[{"tool": "x", "api": "y", "fault": GONE}]))
