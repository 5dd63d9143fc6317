"""Which plans can run on which tasks, and what runs when."""

from __future__ import annotations

from collections import Counter

import pytest

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.graph import PlanNode, read_graph, read_signature, ready_sets
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.experts.plans import Plan, Signature, read_wire
from tests.openagi_tasks import Listed, list_tasks

IMAGE, TEXT = Kind.IMAGE, Kind.TEXT
DOCUMENT = Signature((Slot("document", TEXT), Slot("question", TEXT)), TEXT)
QUESTIONED = Signature((Slot("image", IMAGE), Slot("question", TEXT)), TEXT)


@pytest.fixture(scope="module")
def tasks() -> list[Listed]:
    return list_tasks()


def test_every_gold_plan_is_feasible_and_runs_each_expert_once(tasks):
    assert len(tasks) == 185 and sum(len(one.plan.names) for one in tasks) == 649
    for one in tasks:
        assert infeasible_because(one.plan, one.signature) == "", one.row["id"]
        nodes = [node for level in ready_sets(one.plan, one.signature) for node in level]
        assert Counter(node.expert for node in nodes) == Counter(one.plan.names)
        assert read_graph(nodes, one.signature) == one.plan
        assert parse_plan(one.plan.write(), one.signature).plan == one.plan


def test_a_gold_plan_as_a_list_of_steps_is_given_to_the_same_branches(tasks):
    """All but those that fill the mask of the question alone, where a list does not say which text is meant."""
    differing = []
    for one in tasks:
        steps = "\n".join(f"Step {number}: {name}," for number, name in enumerate(one.plan.names, start=1))
        read = parse_plan(steps, one.signature)
        assert infeasible_because(read.plan, one.signature) == ""
        if read.plan != one.plan:
            differing.append(int(one.row["id"]))
    assert differing == [181, 182]


def test_the_gold_plan_of_another_category_is_not_feasible(tasks):
    """Text to text and text to image alone share nothing: every pair of categories is tried."""
    first = {}
    for one in tasks:
        first.setdefault(one.row["category"], one)
    assert len(first) == 6
    for task in first.values():
        for other in tasks:
            feasible = not infeasible_because(other.plan, task.signature)
            assert feasible == (other.row["category"] == task.row["category"]), (task.row["id"], other.row["id"])


def test_dropping_the_head_or_repeating_an_expert_is_not_feasible_and_dropping_a_restoration_is(tasks):
    """As a separate rule predicts, which looks at the kinds of what is left alone."""
    for one in tasks:
        for segment, index in places(one.plan):
            name = segment_of(one.plan, segment)[index]
            dropped = change(one.plan, segment, index, ())
            same_kind = len(EXPERTS[name].slots) == 1 and EXPERTS[name].slots[0].kind == EXPERTS[name].output
            # Where it is all there is, nothing is left to run; a model that changes the kind, or joins, is missed.
            expected = same_kind and bool(dropped.names)
            assert (not infeasible_because(dropped, one.signature)) == expected, (one.row["id"], name)
            repeated = change(one.plan, segment, index, (name, name))
            assert infeasible_because(repeated, one.signature), (one.row["id"], name)


def test_a_swap_is_feasible_where_the_types_agree(tasks):
    for one in tasks:
        for segment, index in places(one.plan):
            name = segment_of(one.plan, segment)[index]
            for other in PLANNABLE:
                if other in segment_of(one.plan, segment):
                    continue
                mine, its = EXPERTS[name], EXPERTS[other]
                same = [slot.kind for slot in mine.slots] == [slot.kind for slot in its.slots]
                same = same and mine.output == its.output
                if len(mine.slots) == 2 == len(its.slots):
                    same = mine.slots == its.slots
                changed = change(one.plan, segment, index, (other,))
                assert (not infeasible_because(changed, one.signature)) == same, (one.row["id"], name, other)


def places(plan: Plan) -> list[tuple[int, int]]:
    return [(-1, index) for index in range(len(plan.tail))] + [
        (number, index) for number, branch in enumerate(plan.branches) for index in range(len(branch))
    ]


def segment_of(plan: Plan, segment: int) -> tuple[str, ...]:
    return plan.tail if segment < 0 else plan.branches[segment]


def change(plan: Plan, segment: int, index: int, new: tuple[str, ...]) -> Plan:
    old = segment_of(plan, segment)
    changed = (*old[:index], *new, *old[index + 1 :])
    if segment < 0:
        return Plan(plan.branches, changed)
    return Plan((*plan.branches[:segment], changed, *plan.branches[segment + 1 :]), plan.tail)


@pytest.mark.parametrize(
    ("wire", "signature", "problem"),
    [
        ("", DOCUMENT, "the plan names no expert"),
        ("()()", DOCUMENT, "the plan names no expert"),
        ("(Fill Mask,)()", DOCUMENT, "nothing joins the branches"),
        ("Question Answering,", DOCUMENT, "the plan has no branches, the task 2 inputs"),
        ("()()Fill Mask,", DOCUMENT, "'Fill Mask' takes text, and gets document (text) and question (text)"),
        (
            "(Image Captioning,)()Question Answering,",
            QUESTIONED,
            "'Question Answering' takes document and question, and gets image (text) and question (text)",
        ),
        (
            "()(Image Denoising,)Visual Question Answering,",
            QUESTIONED,
            "in the branch of 'question': 'Image Denoising' takes image, and gets text",
        ),
        (
            "()()Visual Question Answering,Text to Image Generation,",
            QUESTIONED,
            "the plan ends in image, the task asks for text",
        ),
        ("()()Visual Question Answering,Nothing,", QUESTIONED, "there is no expert 'Nothing'"),
    ],
)
def test_why_a_plan_is_not_feasible(wire, signature, problem):
    assert infeasible_because(read_wire(wire), signature) == problem


def test_of_two_texts_the_channel_decides_the_slot():
    plan = Plan(((), ("Fill Mask",)), ("Question Answering",))
    assert ready_sets(plan, DOCUMENT)[-1] == [PlanNode("E2", "Question Answering", ("document", "E1"))]
    turned = Signature(DOCUMENT.inputs[::-1], TEXT)
    assert infeasible_because(plan, turned) == ""
    assert ready_sets(plan, turned)[-1] == [PlanNode("E2", "Question Answering", ("E1", "question"))]
    other = Signature((Slot("document", TEXT), Slot("text", TEXT)), TEXT)
    assert infeasible_because(plan, other)


def test_branches_are_ready_together():
    plan = Plan((("Image Denoising", "Colorization"), ("Fill Mask",)), ("Visual Question Answering",))
    levels = ready_sets(plan, QUESTIONED)
    assert [[node.variable for node in level] for level in levels] == [["E1", "E3"], ["E2"], ["E4"]]
    assert levels[2][0].inputs == ("E2", "E3")


_IMAGE = {"name": "image", "kind": "image"}


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"channels": [], "output": "text"},
        {"channels": {"name": "image"}, "output": "text"},
        {"channels": ["image"], "output": "text"},
        {"channels": [{"kind": "image"}], "output": "text"},
        {"channels": [{"name": "image", "kind": "sound"}], "output": "text"},
        {"channels": [_IMAGE], "output": None},
        {"channels": [_IMAGE, _IMAGE], "output": "text"},
    ],
)
def test_hostile_inputs_give_no_signature(inputs):
    with pytest.raises(ValueError):
        read_signature(inputs)
