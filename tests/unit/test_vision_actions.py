"""VQA and QA: what the models are asked, what becomes of their replies, and what is refused."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.session import describe
from lumos_queue.actions.vision.interface import VisionActions, VisionSession
from lumos_queue.commands import Ask
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.episode import StepContext
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import read_actions
from lumos_queue.records import Completion, Task

IMAGE = "ab" * 32
SET = {
    "R1": {"kind": "answer", "text": "a long rod"},
    "R2": {"kind": "answer", "text": "a net"},
    "R3": {"kind": "image", "text": "[IMG]", "image": IMAGE},
}


def run(line: str, reply: str = "a cat", vision: str = "image", image: str | None = IMAGE, caption: str = ""):
    """The execution of an action as the grounder writes it, and the questions that models were asked."""
    asked: list[Ask] = []

    async def step(command, *_):
        asked.append(command)
        return Completion(reply, "stop")

    async def execute():
        actions = VisionActions({"vision": vision})
        session = actions.begin(Task("aokvqa", "", "1", "What?", {"image": image, "caption": caption}))
        (action,) = read_actions(line)
        try:
            return await session.execute(action, StepContext(0, 0, SET, (), step))
        finally:
            await session.close()
            await actions.close()

    return asyncio.run(execute()), asked


def test_vqa_shows_the_image_with_the_question():
    done, (asked,) = run("R4 = VQA([IMG], Question: What lies on the mat?)", "a cat\nand a dog ")
    assert (done.status, done.result, done.values) == (
        "ok",
        "a cat and a dog",
        ({"kind": "answer", "text": "a cat and a dog"},),
    )
    assert (asked.role, asked.images) == ("vqa", (IMAGE,))
    assert "Question: What lies on the mat?\n" in asked.prompt


@pytest.mark.parametrize(
    "arguments",
    [
        "[IMG], Question: Who?",
        "[IMG], QUESTION: Who?",
        "[IMG], Query: Who?",
        "R3, Question: Who?",
        "IMG, Question: Who?",
        "[IMG, R3], Question: Who?",
        "[IMG], Who?",
        "[ IMG ],Question:  Who?",
        "[], Question: Who?",
        "[R3], Question: Who?",
    ],
)
def test_the_image_may_be_written_in_several_ways(arguments):
    done, (asked,) = run(f"R4 = VQA({arguments})")
    assert done.ok and asked.images == (IMAGE,) and asked.prompt.endswith("Question: Who?\n")


def test_variables_in_a_question_stand_for_their_text():
    _, (asked,) = run("R4 = VQA([IMG], Question: What would he do with R1 and R2, not R11 or BR1?)")
    assert "What would he do with a long rod and a net, not R11 or BR1?" in asked.prompt


def test_a_question_of_many_sentences_is_kept_whole():
    asked_for = "Who? We can also see that it, (he) rows. There're some choices: A. a, b, B. c. Output only one letter!"
    _, (asked,) = run(f"R4 = VQA([IMG], Question: {asked_for})", "B")
    assert f"Question: {asked_for}\n" in asked.prompt


def test_qa_joins_what_was_found_and_shows_no_image():
    done, (asked,) = run("R4 = QA([R1, R2], Question: What is he?)", "Answer: a fisherman")
    assert (done.result, asked.role, asked.images) == ("a fisherman", "qa", ())
    assert asked.prompt.endswith("Question: What is he?\nContext: a long rod\na net\n")
    _, (asked,) = run("R4 = QA([R1, old shoes], Question: What is he?)")
    assert asked.prompt.endswith("Context: a long rod\nold shoes\n")
    _, (asked,) = run("R4 = QA(R2, Question: What is it?)")
    assert asked.prompt.endswith("Context: a net\n")
    _, (asked,) = run("R4 = QA([], Question: What is R2 for?)")
    assert asked.prompt.endswith("Question: What is a net for?\n") and "Context" not in asked.prompt


def test_the_image_can_be_a_variable():
    done, asked = run("R4 = ([IMG])")
    assert done.values == ({"kind": "image", "text": "[IMG]", "image": IMAGE},) and not asked
    done, _ = run("R4 = (R1)")
    assert done.result == "a long rod"


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("R4 = VQA([R1], Question: Who?)", "no_image", "R1 is no image"),
        ("R4 = VQA([R9], Question: Who?)", "undefined_variable", "no earlier action has set R9"),
        ("R4 = VQA([cat], Question: Who?)", "undefined_variable", "no earlier action has set cat"),
        ("R4 = QA([IMG], Question: Who?)", "no_image", "QA sees no image"),
        ("R4 = QA([R1, R9], Question: Who?)", "undefined_variable", "R9"),
        ("R4 = VQA(What is it?)", "unreadable", "expected [IMG] or [R1, …]"),
        ("R4 = VQA([IMG])", "unreadable", "expected [IMG]"),
        ("R4 = VQA([IMG], Question: )", "unreadable", "expected [IMG]"),
        ("R4 = LOOK([IMG], Question: Who?)", "unknown_action", "there are QA, VQA"),
        ("R4, R5 = VQA([IMG], Question: Who?)", "arity", "2 variables for 1 values"),
        ("R4 = (nothing)", "unreadable", "neither an action nor a variable"),
        ("hello", "unreadable", "R1 = QA(context, query)"),
    ],
)
def test_what_the_model_did_wrong_is_in_the_execution(line, status, message):
    done, _ = run(line)
    assert done.status == status and message in done.message and "\n" not in done.message


def test_an_empty_reply_is_no_answer():
    assert run("R4 = VQA([IMG], Question: Who?)", " \n ")[0].status == "no_answer"
    assert run("R4 = VQA([IMG], Question: Who?)", "Answer: ")[0].status == "no_answer"


def test_without_its_image_a_task_says_what_to_do():
    for line in ("R4 = VQA([IMG], Question: Who?)", "R4 = ([IMG])"):
        done, asked = run(line, image=None)
        assert done.status == "no_image" and not asked
        assert "--option images=DIR" in done.message and "--tool vision=caption" in done.message


def test_a_caption_can_stand_for_the_image():
    done, (asked,) = run("R4 = VQA([IMG], Question: Who?)", vision="caption", image=None, caption="A cat sits.")
    assert done.ok and asked.images == ()
    assert "The image shows the following contents: A cat sits.\n" in asked.prompt
    done, asked = run("R4 = VQA([IMG], Question: Who?)", vision="caption")
    assert (done.status, asked) == ("no_image", []) and "--option captions=FILE" in done.message


def test_the_question_alone_can_be_asked():
    done, (asked,) = run("R4 = VQA([IMG], Question: Who?)", vision="none", image=None)
    assert done.ok and asked.images == () and "that you cannot see" in asked.prompt


def test_braces_in_questions_do_no_harm():
    _, (asked,) = run("R4 = VQA([IMG], Question: {caption} {0}?)", caption="secret")
    assert "Question: {caption} {0}?" in asked.prompt


def test_tool_options_are_checked_when_a_job_is_submitted():
    assert DOMAINS.load("multimodal").prepare_tools({}) == {"vision": "image"}
    assert DOMAINS.load("multimodal").prepare_tools({"vision": "caption"}) == {"vision": "caption"}
    with pytest.raises(SpecError, match="Choose one of: caption, image, none"):
        DOMAINS.load("multimodal").prepare_tools({"vision": "eyes"})
    with pytest.raises(SpecError, match="Choose one of: vision"):
        DOMAINS.load("multimodal").prepare_tools({"eyes": "two"})
    domain = DOMAINS.load("multimodal")
    assert domain.roles({}) == ("vqa", "qa") and domain.open_actions().domain == "multimodal"


def test_failures_behind_an_action_are_not_the_models_fault():
    async def down(*_):
        raise InfrastructureError("nobody answers")

    async def execute():
        (action,) = read_actions("R1 = VQA([IMG], Question: Who?)")
        await VisionSession({"image": IMAGE}, "image").execute(action, StepContext(0, 0, {}, (), down))

    with pytest.raises(InfrastructureError):
        asyncio.run(execute())


def test_the_action_list_is_rendered_from_the_methods():
    assert describe(VisionSession) == (
        "The available action list is 'QA', 'VQA'.\n"
        "QA(context, query): Given context, answer the given query; "
        "VQA(Image_Context, Query): Given the image context, answer the query.\n\n"
    )
    domain = DOMAINS.load("multimodal")
    assert domain.verified_ground_head is None and domain.ground_head.endswith(describe(VisionSession))


def test_a_caption_is_one_question_about_the_image():
    caption = FORMULATIONS.load("caption")
    assert FORMULATIONS.load("caption").roles == ("captioner",)
    asking = caption(Task("aokvqa", "", "1", "What?", {"image": IMAGE}), None)
    asked = next(asking)
    assert (asked.role, asked.images) == ("captioner", (IMAGE,)) and "describe this image in detail" in asked.prompt
    with pytest.raises(StopIteration) as end:
        asking.send(Completion("A cat.\n It sleeps. ", "stop"))
    assert (end.value.value.answer, end.value.value.ending) == ("A cat. It sleeps.", "answered")
    for inputs in ({}, {"image": None}):
        with pytest.raises(StopIteration) as end:
            next(caption(Task("aokvqa", "", "1", "What?", inputs), None))
        assert end.value.value.ending == "no_answer" and "--option images=DIR" in end.value.value.message
