"""What counts as having done a case of sum2act_visual: which calls, in which order, on which pictures."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from lumos_queue.actions.local.images import write_image
from lumos_queue.actions.local.library import read_articles
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.benchmarks.openagi.rules.pictures import find_named_things
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.sum2act_visual.cases import (
    CASES,
    CONDITIONED,
    DISH,
    DISHES,
    DRAW,
    EDIT,
    PAINT,
    RECOLOUR,
    RESTYLE,
    VQA,
    WEBCAM,
    make_case,
)
from lumos_queue.experts.problems import DIED, Problem
from lumos_queue.records import Action, Ending, Execution
from tests.fake_expert_host import FakeExpertHost, use_fakes
from tests.local_tool_runs import play, run_agent
from tests.visual_router import decide, guess_colour, make_router, recolour_cat

BENCHMARK = open_benchmark("sum2act_visual")
ARTIFACTS: dict[str, bytes] = {}
TASKS = {case: make_case(case, 0, ARTIFACTS) for case in CASES}
IMAGES = {
    one["name"]: write_image(one["values"][0])
    for case in (RECOLOUR, CONDITIONED, WEBCAM)
    for one in TASKS[case].inputs["channels"]
}
COLOUR = "pink"


def make_picture(*inputs: bytes) -> bytes:
    """Another picture for other inputs."""
    seed = hashlib.sha256(b"|".join(inputs)).digest()
    return write_png(np.frombuffer(seed[:27], np.uint8).reshape(3, 3, 3))


FAKES = {
    "Visual Question Answering": lambda image, question: COLOUR.encode(),
    **dict.fromkeys(("Image Editing", "Conditioned Image Generation", "Image Style Transfer"), make_picture),
    "Text to Image Generation": lambda text: Problem(DIED, "it died") if b"die" in text else make_picture(text),
}


@pytest.fixture
def host(monkeypatch) -> FakeExpertHost:
    use_fakes(monkeypatch)
    return FakeExpertHost(FAKES)


def do(name: str, **arguments: str) -> Action:
    return Action((), name, json.dumps(arguments))


def score(task, seen, ending: str = Ending.ANSWERED) -> tuple[float, float, str]:
    """`success`, `gold_calls`, and why it is no success."""
    success, calls = BENCHMARK.score(task, EpisodeResult("x", ending, seen))
    return success.value, calls.value, success.detail


ASK = do(VQA, image=IMAGES["cat"], question="What colour does the cat have?")
RIGHT = do(EDIT, image=IMAGES["dog"], instruction=f"Make the dog {COLOUR}!")
WRONG = do(EDIT, image=IMAGES["cat"], instruction=f"Make the dog {COLOUR}!")
LISTED = do(EDIT, image=IMAGES["dog"], instruction=f"make the dog {COLOUR}, blue or green")
FIND, MEAL = do("search", query="Harbour Supper"), do(DRAW, text="Two fish and a cup")
LOOK, SEPIA = do("take_picture"), do(RESTYLE, image=IMAGES["camera"], text="in Sepia")


@pytest.mark.parametrize(
    ("case", "actions", "expected"),
    [
        (RECOLOUR, [ASK, RIGHT], (1, 1)),
        (RECOLOUR, [WRONG, ASK, WRONG, RIGHT], (1, 1)),  # a detour that is put right
        (RECOLOUR, [RIGHT], (0, 0)),  # the question is skipped
        (RECOLOUR, [RIGHT, ASK], (0, 0.5)),  # it comes too late
        (RECOLOUR, [ASK, WRONG], (0, 0.5)),  # the wrong picture
        (RECOLOUR, [ASK, RIGHT, WRONG], (0, 1)),  # the wrong picture is the last
        (RECOLOUR, [ASK, LISTED], (0, 0.5)),  # every colour is named
        (RECOLOUR, [do(VQA, image=IMAGES["dog"], question="What colour is the cat?"), RIGHT], (0, 0)),
        (RECOLOUR, [do(VQA, image=IMAGES["cat"], question="What is it?"), RIGHT], (0, 0)),
        (RECOLOUR, [ASK, do(EDIT, image=IMAGES["dog"], instruction="make the dogma pink")], (0, 0.5)),
        (RECOLOUR, [], (0, 0)),
        (WEBCAM, [LOOK, SEPIA], (1, 1)),
        (WEBCAM, [LOOK, SEPIA, LOOK], (1, 1)),  # taking one makes none
        (WEBCAM, [SEPIA, LOOK], (0, 0.5)),  # nothing is known of the picture before it is taken
        (WEBCAM, [LOOK], (0, 0.5)),
        (WEBCAM, [LOOK, do(RESTYLE, image=IMAGES["camera"], text="negative")], (0, 0.5)),
        (DISH, [FIND, MEAL], (1, 1)),
        (DISH, [MEAL], (0, 0)),
        (DISH, [do("search", query="rye pancakes"), MEAL], (0, 0)),
        (DISH, [FIND, do(DRAW, text="a fish")], (0, 0.5)),
        (DISH, [FIND, do(DRAW, text="fish, cup, die")], (0, 0.5)),  # the expert dies
        (CONDITIONED, [do(PAINT, image=IMAGES["image"], text="a violet house on a beach")], (1, 1)),
        (CONDITIONED, [do(PAINT, image=IMAGES["image"], text="a red house on a beach")], (0, 0)),
        (CONDITIONED, [do(PAINT, image="image:000000000000", text="a violet house on a beach")], (0, 0)),
        (CONDITIONED, [do(DRAW, text="a violet house on a beach")], (0, 0)),
    ],
)
def test_what_was_done_is_judged_by_calls_order_and_pictures(host, case, actions, expected):
    done, _ = play(actions, TASKS[case], ARTIFACTS, host=host)
    seen = list(zip(actions, done, strict=True))
    *found, detail = score(TASKS[case], seen)
    assert tuple(found) == expected and bool(detail) == (not expected[0])


def test_calls_without_an_answer_are_no_success(host):
    done, _ = play([ASK, RIGHT], TASKS[RECOLOUR], ARTIFACTS, host=host)
    assert score(TASKS[RECOLOUR], list(zip([ASK, RIGHT], done, strict=True)), Ending.LIMIT) == (
        0,
        1,
        "there is no answer",
    )


def test_a_call_that_failed_is_none_whatever_it_says(host):
    (_, drawn), _ = play([FIND, MEAL], TASKS[DISH], ARTIFACTS, host=host)
    failed = Execution("not_found", "", ({"text": "Harbour Supper"},))
    assert score(TASKS[DISH], [(FIND, failed), (MEAL, drawn)])[:2] == (0, 0)


@pytest.mark.parametrize(("choose", "expected"), [(decide, 1.0), (guess_colour, 0.0), (recolour_cat, 0.0)])
def test_a_router_that_skips_the_question_or_changes_the_other_picture_scores_nothing(host, choose, expected):
    router = make_router(choose)
    run, _ = run_agent("sum2act", TASKS[RECOLOUR], {"router": router, "state_manager": router}, ARTIFACTS, host=host)
    assert run.outcome.ending == Ending.ANSWERED
    assert score(TASKS[RECOLOUR], run.actions)[0] == expected


def test_recipes_bring_to_the_table_what_tasks_want_drawn():
    texts = {one.title: one.text for one in read_articles()}
    assert {title: tuple(name for name, _ in find_named_things(texts[title].lower())) for title in DISHES} == dict(
        DISHES
    )


def test_every_task_is_made_once_with_pictures_of_its_own():
    tasks = list(BENCHMARK.read(None, "test"))
    assert len(tasks) == 20 == len({task.row for task in tasks}) == len({task.question for task in tasks})
    named = {value for task in tasks for one in task.inputs["channels"] for value in one["values"]}
    assert named == set(BENCHMARK.artifacts) and len(named) == 20
    assert [task.gold["case"] for task in tasks[:4]] == list(CASES) and tasks[:4] == list(TASKS.values())
