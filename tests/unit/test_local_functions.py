"""Functions that run here: what they return, what they keep, and what a model is told of a call that cannot be."""

from __future__ import annotations

import asyncio
import hashlib
import json

import numpy as np
import pytest

from lumos_queue.actions.local.calls import LOCAL_FUNCTIONS
from lumos_queue.actions.local.documents import DOCUMENTS, local_functions
from lumos_queue.actions.local.images import write_image
from lumos_queue.actions.local.interface import LocalToolActions
from lumos_queue.actions.local.library import read_articles, search_articles
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.commands import Call
from lumos_queue.errors import SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import BAD_INPUT, DIED, Problem
from lumos_queue.records import Action, Ending, Task
from tests.fake_expert_host import FakeExpertHost, use_fakes
from tests.local_tool_runs import play, run_agent
from tests.tool_scripts import call as reply
from tests.tool_scripts import finish

RED, BLUE = (write_png(np.full((4, 6, 3), colour, np.uint8)) for colour in ((200, 0, 0), (0, 0, 200)))
SHA = {name: hashlib.sha256(one).hexdigest() for name, one in (("red", RED), ("blue", BLUE))}
ARTIFACTS = {SHA["red"]: RED, SHA["blue"]: BLUE}
TURNED = write_png(np.full((6, 4, 3), 9, np.uint8))
IMAGE, SEEN = (write_image(SHA[name]) for name in ("red", "blue"))
TASK = Task(
    "x",
    "d",
    "1",
    f"Do something with {IMAGE}.",
    {
        "functions": local_functions(),
        "channels": [
            {"name": "image", "kind": "image", "values": [SHA["red"]]},
            {"name": "camera", "kind": "image", "values": [SHA["blue"]]},
        ],
    },
)
FAKES = {
    "Image Editing": lambda image, instruction: TURNED,
    "Visual Question Answering": lambda image, question: b"%d bytes: %s" % (len(image), question),
    "Fill Mask": lambda text: Problem(BAD_INPUT, "no mask"),
    "Image Denoising": lambda image: Problem(DIED, "it died"),
}


def do(name: str, arguments=None, variables: tuple[str, ...] = ()) -> Action:
    return Action(variables, name, arguments if isinstance(arguments, str) else json.dumps(arguments or {}))


def response(execution):
    return json.loads(execution.result)["response"]


@pytest.fixture
def host(monkeypatch) -> FakeExpertHost:
    use_fakes(monkeypatch, [name for name in EXPERTS if name != "Image Style Transfer"])
    return FakeExpertHost(FAKES)


def test_every_expert_and_every_other_function_has_a_document_that_is_read_as_it_is_written():
    functions = functions_of(local_functions())
    assert [one.name for one in functions] == list(DOCUMENTS)
    assert {one.api for one in functions} == set(LOCAL_FUNCTIONS) >= set(EXPERTS)
    assert all(one.required and one.type == "string" for function in functions for one in function.parameters)
    with pytest.raises(SpecError, match="No local function called 'draw'"):
        local_functions("search", "draw")


def test_what_an_expert_makes_is_kept_named_by_its_size_and_may_be_given_to_the_next(host):
    edited = write_image(hashlib.sha256(TURNED).hexdigest())
    steps = [
        do("image_editing", {"image": f"{IMAGE} (6x4, a square)", "instruction": "turn it"}),
        do("visual_question_answering", {"image": edited, "question": "what is it?"}),
    ]
    (first, second), journal = play(steps, TASK, ARTIFACTS, host=host)
    assert response(first) == f"{edited} (4x6)" and response(second) == f"{len(TURNED)} bytes: what is it?"
    made = hashlib.sha256(TURNED).hexdigest()
    assert first.values[0]["artifacts"] == [{"name": "image-editing", "sha256": made, "media_type": "image/png"}]
    assert first.values[0]["images"] == {"image": SHA["red"]} and second.values[0]["images"] == {"image": made}
    assert journal.artifacts[made] == ("image/png", TURNED)
    calls = [one for one in journal.steps if isinstance(one.command, Call)]
    assert [one.result.provenance for one in calls] == ["live", "live"]


def test_a_resumed_episode_repeats_nothing(host):
    steps = [do("image_editing", {"image": IMAGE, "instruction": "x"}), do("write_file", {"name": "a", "text": "b"})]
    whole, journal = play(steps, TASK, ARTIFACTS, host=host)
    stored = ARTIFACTS | {digest: data for digest, (_, data) in journal.artifacts.items()}
    for kept in range(len(journal.steps) + 1):
        again, _ = play(steps, TASK, stored, journal=MemoryJournal(journal.steps[:kept]), host=host)
        assert [one.values for one in again] == [one.values for one in whole]
    assert len(host.spans) == 2, "once for the whole, once where nothing was kept"


def test_what_the_camera_sees_is_unknown_until_a_picture_is_taken(host):
    ask = do("visual_question_answering", {"image": SEEN, "question": "q"})
    (before, taken, after), _ = play([ask, do("take_picture"), ask], TASK, ARTIFACTS, host=host)
    assert before.status == "invalid_arguments" and "names no image" in before.message
    assert response(taken) == f"{SEEN} (6x4)" and after.ok
    (none,), _ = play([do("take_picture")], Task("x", "d", "1", "?", {"functions": local_functions()}), host=host)
    assert none.status == "tool_error" and "no camera" in none.message


@pytest.mark.parametrize(
    ("name", "arguments", "status", "told"),
    [
        ("image_editing", {"image": "the cat", "instruction": "x"}, "invalid_arguments", f"there are so far: {IMAGE}"),
        ("image_editing", {"image": SHA["red"][:11], "instruction": "x"}, "invalid_arguments", "names no image"),
        ("image_editing", {"image": "../../etc/passwd", "instruction": "x"}, "invalid_arguments", "names no image"),
        ("image_editing", "{", "invalid_arguments", "not JSON"),
        ("image_editing", {"image": IMAGE}, "invalid_arguments", "needs the argument 'instruction'"),
        ("image_style_transfer", {"image": IMAGE, "text": "x"}, "not_run", "not run: needs weights"),
        ("text_generation", {"text": "x"}, "tool_error", "cannot be loaded"),
        ("fill_mask", {"text": "x"}, "invalid_arguments", "Fill Mask gave nothing: no mask"),
        ("image_denoising", {"image": IMAGE}, "tool_error", "it died"),
        ("fill_mask", {"text": "x" * 20_000}, "invalid_arguments", "arguments may have 20,000 characters"),
        ("draw", {}, "unknown_action", "no function 'draw'"),
        ("calculator", {"formula": "__import__('os').getcwd()"}, "invalid_arguments", ""),
        ("calculator", {"formula": "1 / 0"}, "invalid_arguments", ""),
        ("search", {"query": "qqqq zzzz"}, "not_found", "no article"),
        ("write_file", {"name": "../a.txt", "text": "x"}, "invalid_arguments", "file's name"),
        ("write_file", {"name": ".profile", "text": "x"}, "invalid_arguments", "file's name"),
        ("Finish", {}, "invalid_arguments", "return_type"),
    ],
)
def test_a_call_that_cannot_be_is_told_to_the_model_and_ends_nothing(host, name, arguments, status, told):
    (done,), journal = play([do(name, arguments)], TASK, ARTIFACTS, host=host)
    assert done.status == status and json.loads(done.result)["response"] == ""
    assert told in json.loads(done.result)["error"]
    assert not journal.artifacts


def test_a_function_that_a_task_documents_and_nothing_here_answers(host):
    entry = local_functions("search")[0] | {"category_name": "Weather"}
    (done,), _ = play([do("search", {"query": "x"})], Task("x", "d", "1", "?", {"functions": [entry]}), host=host)
    assert done.status == "not_found" and "nothing here answers 'search'" in done.message


def test_the_calculator_is_exact_and_a_file_is_an_artifact(host):
    steps = [do("calculator", {"formula": "3 * (19.5 + 4) / 7"}), do("calculator", {"formula": "0.1 + 0.2"})]
    steps.append(do("write_file", {"name": "trip.md", "text": "# Ombry\nä"}))
    (first, second, written), journal = play(steps, TASK, host=host)
    assert (response(first), response(second)) == ("141/14", "0.3"), "numbers are exact"
    (stored,) = written.values[0]["artifacts"]
    assert (stored["name"], journal.artifacts[stored["sha256"]]) == (
        "trip.md",
        ("text/markdown", "# Ombry\nä".encode()),
    )
    assert response(written) == "trip.md is written: 9 characters"


def test_articles_are_found_by_their_words(host):
    found, _ = play([do("search", {"query": "fare of the night train"})], TASK, host=host)
    assert response(found[0])[0]["title"] == "The night train to Karsund"
    articles = read_articles()
    assert 30 <= len(articles) == len({one.title for one in articles})
    assert all(one in asyncio.run(search_articles(one.title)) for one in articles)


def test_options_are_those_of_experts_and_missing_experts_refuse_no_job():
    found = LocalToolActions.prepare({"observation": "50"})
    assert found["experts"] == "hf" and found["observation"] == "50" and LocalToolActions(found).limit == 50
    with pytest.raises(SpecError, match="tool option of domain 'local_tools' called 'answers'"):
        LocalToolActions.prepare({"answers": "strict"})
    with pytest.raises(SpecError, match="not run: needs"):
        LocalToolActions.prepare({"image-editing": "hf:/nowhere"})


# --- each formulation, unchanged

EDIT = {"image": IMAGE, "instruction": "turn it"}
EDITED = write_image(hashlib.sha256(TURNED).hexdigest())
DECISIONS = [
    reply("image_editing", "first", **EDIT),
    reply("visual_question_answering", "then", image=EDITED, question="what?"),
    finish(f"done: {EDITED}"),
]
PLAN = (
    f"Plan: edit\n#E1 = image_editing {json.dumps(EDIT)}\n"
    'Plan: ask\n#E2 = visual_question_answering {"image": "#E1", "question": "what?"}'
)
KEPT = '{"status": "success", "answer": "ok"}'


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("react", {"policy": DECISIONS}),
        ("dfsdt", {"policy": DECISIONS}),
        ("rewoo", {"planner": [PLAN], "solver": [f"done: {EDITED}"]}),
        ("sum2act", {"router": DECISIONS, "state_manager": [KEPT]}),
    ],
)
def test_each_formulation_calls_them(host, name, models):
    run, _ = run_agent(name, TASK, models, ARTIFACTS, host=host)
    assert run.outcome.ending == Ending.ANSWERED and run.outcome.answer == f"done: {EDITED}"
    called = [(action.name, done.status) for action, done in run.actions if action.name != "Finish"]
    assert called == [("image_editing", "ok"), ("visual_question_answering", "ok")]
