"""What may come next in a plan: all that leads to one, and nothing else, whatever the experts are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.errors import SpecError
from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.grammar import PlanGrammar, PlanPrefix
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import Plan, Signature, read_wire
from tests.plan_spaces import candidates, is_allowed, random_constraint, write_plans

IMAGE, TEXT = Kind.IMAGE, Kind.TEXT


@pytest.fixture(scope="module")
def random_ones() -> list[PlanConstraint]:
    return [random_constraint(seed) for seed in range(300)]


def test_exactly_the_plans_that_trying_all_finds_are_given(random_ones):
    counts = Counter()
    for seed, constraint in enumerate(random_ones):
        tried = {plan.write(): is_allowed(plan, constraint) for plan in candidates(constraint)}
        texts = write_plans(constraint)
        assert sorted(texts) == sorted(text for text, allowed in tried.items() if allowed), seed
        counts[len(constraint.signature.inputs), constraint.goal_aware, len(texts) > 2] += 1
        if not texts:
            with pytest.raises(SpecError, match="none is feasible"):
                constraint.check()
            continue
        constraint.check()
        pattern = re.compile(constraint.regex())
        assert all(bool(pattern.fullmatch(text)) == allowed for text, allowed in tried.items()), seed
        assert all(constraint.accepts(text) == allowed for text, allowed in [*tried.items()][-300:]), seed
    assert all(counts[inputs, aware, True] > 7 for inputs in (1, 2) for aware in (True, False)), counts


def test_branch_by_branch_gives_the_same_plans(random_ones):
    composed = 0
    for seed, constraint in enumerate(random_ones):
        if len(constraint.signature.inputs) == 1 or not (whole := write_plans(constraint)) or len(whole) > 300:
            continue
        found = []
        for first in write_plans(one := replace(constraint, until_branch=True)):
            assert re.fullmatch(one.regex(), first) and one.accepts(first)
            begun = replace(constraint, branches=read_wire(first).branches)
            assert sorted(write_plans(begun)) == sorted(text for text in whole if text.startswith(first))
            for both in write_plans(two := replace(begun, until_branch=True)):
                assert re.fullmatch(two.regex(), both) and both.startswith(first)
                third = replace(begun, branches=read_wire(both).branches)
                assert all(re.fullmatch(third.regex(), text) for text in write_plans(third))
                found += write_plans(third)
        assert sorted(found) == sorted(whole), seed
        composed += 1
    assert composed > 25


@pytest.mark.parametrize("goal_aware", [True, False])
def test_every_gold_plan_is_given_that_such_a_grammar_can_give(goal_aware):
    for task in TASKS:
        constraint = PlanConstraint(task.signature, goal_aware=goal_aware)
        empty_branches = () in task.plan.branches
        assert constraint.accepts(task.plan.write()) == (goal_aware or not empty_branches), task.id
        assert re.fullmatch(constraint.regex(), task.plan.write()) or (empty_branches and not goal_aware)


def test_two_image_branches_are_no_dead_end():
    """OpenAGI's decoder lets both branches give images, and then has no join to offer (specification, 14)."""
    task = next(one for one in TASKS if one.category == "image+text-text")
    experts = PlanConstraint(task.signature).registry
    grammar = PlanGrammar(task.signature, experts, False, 10)
    after = grammar.close(grammar.names(grammar.start())["Image Denoising"])
    assert after is not None
    drawn = grammar.names(after)["Text to Image Generation"]
    assert grammar.close(drawn) is None and "Image Captioning" in grammar.names(drawn)


def test_the_last_model_that_may_be_is_one_that_reaches_the_goal():
    experts = (Expert("A", (Slot("t", TEXT),), TEXT, ""), Expert("B", (Slot("t", TEXT),), IMAGE, ""))
    grammar = PlanGrammar(Signature((Slot("t", TEXT),), IMAGE), experts, True, 2)
    assert [*grammar.names(grammar.start())] == ["A", "B"]
    assert [*grammar.names(PlanPrefix(used=frozenset({"A"}), kind=TEXT))] == ["B"]
    assert [*PlanGrammar(grammar.signature, experts, True, 1).names(grammar.start())] == ["B"]


def test_a_longer_branch_before_leaves_less_room_for_the_tail():
    x, y = Slot("x", TEXT), Slot("y", TEXT)
    experts = (
        Expert("Draw", (x,), IMAGE, ""),
        Expert("Read", (Slot("x", IMAGE),), TEXT, ""),
        Expert("Of two texts", (x, y), TEXT, ""),  # has to be followed by Draw
        Expert("Of text and image", (x, Slot("y", IMAGE)), IMAGE, ""),
    )
    grammar = PlanGrammar(Signature((x, y), IMAGE), experts, True, 4)
    drawn = PlanPrefix((TEXT,), 2, frozenset({"Draw"}), IMAGE)
    assert [*grammar.names(drawn)] == ["Read"]
    longer = drawn._replace(longest=3)
    assert not grammar.names(longer) and grammar.close(longer)


def test_a_task_with_three_inputs_has_three_branches():
    slots = tuple(Slot(name, TEXT) for name in "abc")
    experts = (Expert("Join", slots, IMAGE, ""), Expert("Fix", slots[:1], TEXT, ""))
    constraint = PlanConstraint(Signature(slots, IMAGE), experts, max_modules=2)
    fixed = [("Fix",), ()]
    expected = [Plan((one, two, three), ("Join",)).write() for one in fixed for two in fixed for three in fixed]
    assert sorted(write_plans(constraint)) == sorted(expected)
    assert all(re.fullmatch(constraint.regex(), text) for text in expected)
