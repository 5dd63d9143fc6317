"""Constraints on plans: their pieces, what they allow, and how they travel."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest

from lumos_queue.commands import Ask
from lumos_queue.errors import SpecError
from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import MAX_MODULES, Signature

IMAGE, TEXT = Kind.IMAGE, Kind.TEXT
RESTORED = PlanConstraint(Signature((Slot("image", IMAGE),), IMAGE))
QUESTIONED = PlanConstraint(Signature((Slot("image", IMAGE), Slot("question", TEXT)), TEXT))


def walk(constraint, *pieces):
    state = constraint.start()
    for piece in pieces:
        state = constraint.pieces(state)[piece]
    return state


def test_names_and_marks_alternate():
    assert [*QUESTIONED.pieces(QUESTIONED.start())] == ["(", "()(", "()()"]
    begun = walk(QUESTIONED, "(", "Image Denoising")
    assert [*QUESTIONED.pieces(begun)] == [",", ",)(", ",)()"]
    joined = walk(QUESTIONED, "(", "Image Denoising", ",)()")
    assert [*QUESTIONED.pieces(joined)] == ["Visual Question Answering"]
    after = walk(QUESTIONED, "()()", "Visual Question Answering")
    assert [*QUESTIONED.pieces(after)] == [","] and not QUESTIONED.may_end(after)
    end = QUESTIONED.pieces(after)[","]
    assert QUESTIONED.may_end(end) and "Machine Translation" in QUESTIONED.pieces(end)


def test_what_was_used_and_what_does_not_fit_is_not_offered_again():
    first = walk(RESTORED, "Colorization", ",")
    assert RESTORED.may_end(first) and "Colorization" not in RESTORED.pieces(first)
    assert "Fill Mask" not in RESTORED.pieces(first) and "Image Captioning" in RESTORED.pieces(first)
    text = walk(RESTORED, "Image Captioning", ",")
    assert not RESTORED.may_end(text) and "Text to Image Generation" in RESTORED.pieces(text)
    assert not QUESTIONED.may_end(QUESTIONED.start()) and not RESTORED.may_end(RESTORED.start())


def test_given_branches_are_the_only_pieces_there():
    begun = replace(QUESTIONED, branches=(("Image Denoising", "Colorization"),))
    begun.check()
    assert [*begun.pieces(begun.start())] == ["("]
    assert [*begun.pieces(walk(begun, "("))] == ["Image Denoising"]
    assert [*begun.pieces(walk(begun, "(", "Image Denoising"))] == [","]
    assert [*begun.pieces(walk(begun, "(", "Image Denoising", ",", "Colorization"))] == [",)(", ",)()"]
    both = replace(begun, branches=(*begun.branches, ()))
    assert [*both.pieces(walk(both, "(", "Image Denoising", ",", "Colorization"))] == [",)()"]
    assert both.regex().startswith(r"\(Image Denoising,Colorization,\)\(\)")


def test_a_reply_until_a_branch_ends_with_it():
    first = replace(QUESTIONED, until_branch=True)
    assert first.accepts("()") and first.accepts("(Image Denoising,)")
    assert not first.accepts("(Image Denoising,)(") and not first.accepts("(Image Denoising,)()")
    second = replace(first, branches=((),))
    assert second.accepts("()(Fill Mask,)") and not second.accepts("()") and not second.accepts("(Fill Mask,)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Colorization",
        "Colorization, ",
        " Colorization,",
        "Colorization,Colorization,",
        "colorization,",
        "Image Captioning,",
        "()Colorization,",
        "Colorization,,",
        "Colorization,\n",
        "Visual Question Answering,",
        "Image Denoising,Image Deblurring,Colorization,Image Super Resolution,Image Captioning,Fill Mask,"
        "Text Summarization,Machine Translation,Sentiment Analysis,Text Generation,Text to Image Generation,",
        "(" * 100_000,
        "Colorization," * 100_000,
        "\ud800",
    ],
)
def test_other_texts_are_not_accepted(text):
    assert not RESTORED.accepts(text)


def test_ten_experts_may_follow_each_other_and_no_more():
    ten = [
        "Image Denoising",
        "Image Deblurring",
        "Colorization",
        "Image Super Resolution",
        "Image Captioning",
        "Fill Mask",
        "Text Summarization",
        "Machine Translation",
        "Sentiment Analysis",
        "Text to Image Generation",
    ]
    assert len(ten) == MAX_MODULES and RESTORED.accepts(",".join(ten) + ",")
    assert not replace(RESTORED, max_modules=9).accepts(",".join(ten) + ",")
    assert replace(RESTORED, max_modules=11).accepts(",".join([*ten[:-1], "Text Generation", ten[-1]]) + ",")


@pytest.mark.parametrize(
    "constraint",
    [
        RESTORED,
        replace(QUESTIONED, goal_aware=False, branches=(("Image Denoising",),), until_branch=True, max_modules=3),
        replace(RESTORED, registry=(Expert("Own", (Slot("image", IMAGE),), IMAGE, ""),)),
    ],
)
def test_another_process_makes_the_same_of_it(constraint):
    again = PlanConstraint.from_json(json.loads(json.dumps(constraint.as_json())))
    assert again == constraint and hash(again) == hash(constraint) and again.digest == constraint.digest
    pickled = pickle.loads(pickle.dumps(constraint))
    assert pickled == constraint and pickled.pieces(pickled.start()) == constraint.pieces(constraint.start())


def test_the_digest_tells_what_is_allowed_and_nothing_else():
    others = [
        replace(QUESTIONED, goal_aware=False),
        replace(QUESTIONED, max_modules=9),
        replace(QUESTIONED, branches=((),)),
        replace(QUESTIONED, branches=((),), until_branch=True),
        replace(QUESTIONED, registry=QUESTIONED.registry[:-1]),
        RESTORED,
    ]
    assert len({one.digest for one in (QUESTIONED, *others)}) == 7
    described = tuple(replace(one, description="") for one in QUESTIONED.registry)
    assert replace(QUESTIONED, registry=described).digest == QUESTIONED.digest
    assert Ask("planner", "x", constraint=QUESTIONED).digest != Ask("planner", "x", constraint=RESTORED).digest


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (replace(RESTORED, registry=()), "there are no experts to choose from; name at least one"),
        (replace(RESTORED, registry=(EXPERTS["Fill Mask"],)), "none is feasible with these experts, at most 10"),
        (replace(QUESTIONED, max_modules=0), "none is feasible with these experts, at most 0"),
        (replace(QUESTIONED, branches=(("Fill Mask",),)), "none is feasible, beginning with [['Fill Mask']], with"),
        (replace(QUESTIONED, branches=((), (), ())), "3 branches are asked for, and such plans have 2"),
        (replace(QUESTIONED, branches=((), ()), until_branch=True), "3 branches are asked for, and such plans have 2"),
        (replace(RESTORED, until_branch=True), "1 branches are asked for, and such plans have 0"),
        (replace(RESTORED, registry=RESTORED.registry[:2] * 2), "'Sentiment Analysis' cannot be an expert's name"),
        (replace(RESTORED, registry=(Expert("A,B", (Slot("x", IMAGE),), IMAGE, ""),)), "'A,B' cannot be"),
        (replace(RESTORED, registry=(Expert("", (Slot("x", IMAGE),), IMAGE, ""),)), "'' cannot be"),
        (replace(RESTORED, registry=(Expert("A\nB", (Slot("x", IMAGE),), IMAGE, ""),)), r"'A\nB' cannot be"),
        (replace(RESTORED, signature=Signature((), IMAGE)), "of no inputs"),
    ],
)
def test_what_has_no_reply_is_told_in_one_line(constraint, problem):
    for told in (constraint.check, constraint.regex):
        with pytest.raises(SpecError) as error:
            told()
        assert problem in str(error.value) and "\n" not in str(error.value)


GOOD = QUESTIONED.as_json()


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "x",
        {},
        {**GOOD, "output": "sound"},
        {**GOOD, "inputs": None},
        {**GOOD, "inputs": [{}]},
        {**GOOD, "experts": {"name": "x"}},
        {**GOOD, "experts": ["Fill Mask"]},
        {**GOOD, "max_modules": True},
        {**GOOD, "max_modules": "10"},
        {**GOOD, "branches": ["Fill Mask"]},
        {**GOOD, "branches": [[3]]},
        {**GOOD, "until_branch": 0},
        {name: one for name, one in GOOD.items() if name != "goal_aware"},
    ],
)
def test_other_json_is_told_in_one_line(value):
    with pytest.raises(SpecError, match="not a constraint on plans: expected inputs, output") as error:
        PlanConstraint.from_json(value)
    assert "\n" not in str(error.value)


def test_the_default_is_what_plans_of_openagi_may_use():
    assert tuple(one.name for one in RESTORED.registry) == PLANNABLE
    assert len(RESTORED.regex()) < 600 and len(QUESTIONED.regex()) < 1700
