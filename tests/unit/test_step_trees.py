"""The tree of a tool agent's steps, and the graph of a plan of experts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from lumos_queue.records import Action, Execution
from lumos_queue.reports.episode_values import Step
from lumos_queue.reports.pictures import Picture
from lumos_queue.reports.plan_graph import read_graph
from lumos_queue.reports.step_tree import MAX_DEPTH, TreeNode, read_tree


def step(at: int, parent: int, who: str = "policy", result: str = "") -> Step:
    return Step(at=str(at), parent=parent, who=who, what=f"Thought: {at}", result=result)


def tell(ways: list[list[TreeNode]]) -> list:
    return [[node.at if not node.branches else [node.at, *tell(node.branches)] for node in way] for way in ways]


def test_ways_part_where_a_step_has_several_after_it():
    steps = [step(0, -1), step(1, 0, "tool", "seen"), step(2, 1), step(3, 1), step(4, 3), step(5, -1)]
    assert tell(read_tree(steps)) == [["0", ["1", ["2"], ["3", "4"]]], ["5"]]
    first = read_tree(steps)[0]
    assert (first[0].text, first[1].text, first[1].result) == ("0", "Thought: 1", "seen")


def test_every_step_is_in_the_tree_once_however_long_or_deep_it_is():
    long = [step(at, at - 1) for at in range(5_000)]
    assert [len(way) for way in read_tree(long)] == [5_000]
    deep = [
        one
        for at in range(200)
        for one in (step(2 * at, 2 * at - 2 if at else -1), step(2 * at + 1, 2 * at - 2 if at else -1))
    ]

    def count(ways: list[list[TreeNode]], depth: int = 0) -> int:
        assert not ways or depth <= MAX_DEPTH
        return sum(1 + count(node.branches, depth + 1) for way in ways for node in way)

    assert count(read_tree(deep)) == 400


def test_steps_that_lie_in_no_tree_and_parents_that_are_not_there():
    assert read_tree([Step(at="0", who="planner", what="x")]) == []
    assert tell(read_tree([step(4, 3)])) == [["4"]]
    within = replace(step(1, 0), within="0")
    assert tell(read_tree([step(0, -1), within])) == [["0"]]


def ran(position: int, variable: str, expert: str, arguments: str, done: Execution) -> SimpleNamespace:
    return SimpleNamespace(position=position, detail=Action((variable,), expert, arguments, ""), result=done)


def graph(formulation: str = "model-synthesis", inputs=None, pictures=()) -> list:
    steps = [
        ran(3, "E1", "Colorization", '["image"]', Execution("ok", "a picture")),
        ran(4, "E2", "Fill Mask", '["question"]', Execution("ok", "a text")),
        ran(5, "E3", "Visual Question Answering", '["E1", "E2"]', Execution("expert", message="no memory")),
        ran(6, "E4", "Summarization", "not json", Execution("ok", "x")),
    ]
    channels = [
        {"name": "image", "kind": "image", "values": ["d"]},
        {"name": "question", "kind": "text", "values": ["Who?", 1]},
    ]
    task = SimpleNamespace(inputs={"channels": channels} if inputs is None else inputs)
    return read_graph(
        SimpleNamespace(episode=SimpleNamespace(formulation=formulation), task=task, steps=steps), pictures
    )


def test_a_plan_is_read_level_by_level_with_what_each_was_given():
    shown = [Picture("image", 0, "a", "image/png", 9), Picture("3-E1", 0, "b", "image/png", 9)]
    levels = graph(pictures=shown)
    assert [[(node.name, node.expert, list(node.inputs), node.at) for node in level] for level in levels] == [
        [("image", "", [], ""), ("question", "", [], "")],
        [
            ("E1", "Colorization", ["image"], "3"),
            ("E2", "Fill Mask", ["question"], "4"),
            ("E4", "Summarization", [], "6"),
        ],
        [("E3", "Visual Question Answering", ["E1", "E2"], "5")],
    ]
    assert [one.sha256 for one in (*levels[0][0].pictures, *levels[1][0].pictures)] == ["a", "b"]
    assert levels[0][1].text == "Who?\n1"
    assert (levels[2][0].ok, levels[2][0].text) == (False, "expert: no memory")


def test_other_formulations_have_no_graph_and_strange_tasks_no_inputs():
    assert graph("iterative") == [] and graph("gone") == []
    for inputs in ({}, {"channels": "x"}, {"channels": ["x", None]}, []):
        assert [node.name for node in graph(inputs=inputs)[0]] == ["E1", "E2", "E4"]
