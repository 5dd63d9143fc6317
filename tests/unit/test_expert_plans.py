"""Plans: their wire form, and reading them from what models write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.names import find_name
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.experts.plans import Plan, Signature, read_wire
from tests.cpu_limit import cpu_limit

IMAGE, TEXT = Kind.IMAGE, Kind.TEXT
QUESTIONED = Signature((Slot("image", IMAGE), Slot("question", TEXT)), TEXT)
DOCUMENT = Signature((Slot("document", TEXT), Slot("question", TEXT)), TEXT)
names = st.lists(st.sampled_from(PLANNABLE), max_size=5).map(tuple)
plans = st.one_of(
    st.builds(Plan, st.just(()), st.lists(st.sampled_from(PLANNABLE), max_size=12).map(tuple)),
    st.builds(Plan, st.lists(names, min_size=1, max_size=3).map(tuple), names),
)


@given(plans)
@settings(max_examples=100, deadline=None)
def test_a_plan_is_read_as_it_was_written(plan):
    assert read_wire(plan.write()) == plan
    if any(plan.names) or plan.branches:
        read = parse_plan(plan.write())
        assert read.plan == plan and not read.unresolved


@given(st.text(alphabet=st.sampled_from("(),;>-\n \tAbStep1:.|<\0\ud800ÄImage DenoisingVQA"), max_size=300))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read(text):
    for signature in (None, QUESTIONED, DOCUMENT):
        read = parse_plan(text, signature)
        assert set(read.plan.names) <= set(PLANNABLE)
        if signature:
            infeasible_because(read.plan, signature)


@given(st.lists(st.sampled_from([*PLANNABLE, "(", ")", ",", "Step 1:", "\n", " and "]), max_size=40).map("".join))
@settings(max_examples=100, deadline=None)
def test_names_in_any_order_with_any_brackets_are_read(text):
    assert set(parse_plan(text, DOCUMENT).plan.names) <= set(PLANNABLE)


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("Step 1: Image Denoising,\nStep 2: Image Deblurring,\nStep 3: Colorization,", "dbc"),
        ("Here is the plan:\nStep 1: image-denoising\nStep 2: De-blurring of it? Image Deblurring\n\nDone.", "db"),
        ("1. Image Denoising\n2) IMAGE_DEBLURRING\n(3) colorization", "dbc"),
        ("- Image Denoising\n* Image Deblurring", "db"),
        ("Image Denoising -> Image Deblurring → colourisation", "dbc"),
        ("Image Denoising, Image Deblurring, Colorization", "dbc"),
        ("module: Image Denoising, module: Image Deblurring", "db"),
        ("Step 1: Image Denoising Step 2: Colorization", "dc"),
        ("(1) Image Denoising", "d"),
        ("**Step 1:** Image Denoising\n**Step 2:** Colorization", "dc"),
        ("<|assistant|>\nStep 1: Image Denoising", "d"),
    ],
)
def test_lists_of_steps(text, wire):
    short = {"d": "Image Denoising", "b": "Image Deblurring", "c": "Colorization"}
    assert parse_plan(text).plan == Plan((), tuple(short[one] for one in wire))


def test_the_longest_name_at_a_place_and_the_first_of_a_step():
    assert find_name("use Visual Question Answering on it") == "Visual Question Answering"
    assert find_name("question-answering") == "Question Answering"
    assert find_name("Text-to-Image  generation") == "Text to Image Generation"
    assert find_name("Image Captioning, then Machine Translation") == "Image Captioning"
    assert find_name("supervisual questions, denoisings") == "" == find_name("Image Editing")
    for name in PLANNABLE:
        for alias in (name, name.upper(), EXPERTS[name].option, *EXPERTS[name].aliases):
            assert find_name(f"apply {alias}!") == name, alias


def test_steps_that_name_no_expert_are_kept_and_never_become_one():
    read = parse_plan("Step 1: Image Denoising\nStep 2: Bake the cake\nStep 3: Image Captioning")
    assert read.plan.names == ("Image Denoising", "Image Captioning") and read.unresolved == ("Bake the cake",)
    read = parse_plan("(Image Denoising,Magic,)(,)Visual Question Answering,")
    assert read.plan.write() == "(Image Denoising,)()Visual Question Answering," and read.unresolved == ("Magic",)
    assert parse_plan("").plan == parse_plan("I cannot.").plan == Plan()


def test_hostile_replies():
    read = parse_plan("(Image Denoising,(Fill Mask,)Visual Question Answering,", QUESTIONED)
    assert read.issues and read.plan.write() == "(Image Denoising,)(Fill Mask,)Visual Question Answering,"
    third = parse_plan("(Image Denoising,)(Fill Mask,)(Fill Mask,)Visual Question Answering,", QUESTIONED)
    assert infeasible_because(third.plan, QUESTIONED) == "the plan has 3 branches, the task 2 inputs"
    one = Signature((Slot("text", TEXT),), TEXT)
    eleven = parse_plan("Fill Mask,Machine Translation," * 5 + "Text Summarization", one)
    assert infeasible_because(eleven.plan, one) == "11 experts one after another, at most 10 may be"


@pytest.mark.parametrize(
    "piece",
    ["Image Denoising, ", "Step 1: Fill Mask\n", "(", "(Fill Mask,)", ")(", "a", "step ", " ", "\n", "- ", "image "],
)
def test_a_megabyte_is_read_in_time_that_grows_with_it(piece):
    """Each character is looked at for one step only, and finding the steps is no more work than that."""
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    searched = 0

    def find(step: str) -> str:
        nonlocal searched
        searched += len(step)
        return find_name(step)

    with cpu_limit(20):
        parse_plan(text, QUESTIONED, find)
    assert searched <= len(text)


def test_what_is_no_wire_form_is_refused_at_once():
    with cpu_limit(5):
        for text in ("(A", "A)", "((A))", "A(B)", "(A)B(C)", "()" + " " * 200_000 + "("):
            with pytest.raises(ValueError, match="wire form"):
                read_wire(text)


@pytest.mark.parametrize(
    ("text", "signature", "wire"),
    [
        (
            "Image Denoising, Fill Mask, Visual Question Answering, Machine Translation",
            QUESTIONED,
            "(Image Denoising,)(Fill Mask,)Visual Question Answering,Machine Translation,",
        ),
        ("Fill Mask, Image Denoising, VQA", QUESTIONED, "(Image Denoising,)(Fill Mask,)Visual Question Answering,"),
        ("Visual Question Answering", QUESTIONED, "()()Visual Question Answering,"),
        ("Fill Mask, Fill Mask, Question Answering", DOCUMENT, "(Fill Mask,)(Fill Mask,)Question Answering,"),
        ("Fill Mask, Question Answering", DOCUMENT, "(Fill Mask,)()Question Answering,"),
        (
            "Step 1: Fill Mask on the question\nStep 2: Question Answering",
            DOCUMENT,
            "()(Fill Mask,)Question Answering,",
        ),
        ("Fill Mask", DOCUMENT, "(Fill Mask,)()"),
        ("Image Denoising, Question Answering", DOCUMENT, "(Image Denoising,)()Question Answering,"),
    ],
)
def test_steps_are_given_to_branches_by_type(text, signature, wire):
    assert parse_plan(text, signature).plan.write() == wire
