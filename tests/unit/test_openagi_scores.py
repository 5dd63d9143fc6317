"""The scores of OpenAGI: the plan is what ran, infeasible is 0 in everything, failures keep a plan feasible."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.openagi.agreement import is_exact, name_difference, order, overlap
from lumos_queue.benchmarks.openagi.benchmark import benchmark
from lumos_queue.benchmarks.openagi.data.samples import load_sample
from lumos_queue.benchmarks.openagi.scores import Comparison, score_episode
from lumos_queue.benchmarks.openagi.splits import SPLITS
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.errors import SpecError
from lumos_queue.experts.base import Kind
from lumos_queue.experts.graph import read_signature, ready_sets
from lumos_queue.experts.plans import Plan, read_wire
from lumos_queue.records import Action, Ending, Execution

NAMES = ("feasible", "recovery", "plan_exact", "plan_set", "plan_order")
NONE = dict.fromkeys([*NAMES, "ssim"], 0.0)  #: of a task whose output is a picture


@pytest.fixture(scope="module")
def tasks():
    return {task.row: task for task in benchmark.read(None, "all", samples="2")}


def execution(items=("x", "y"), status="ok"):
    value = {"kind": "values", "type": "text", "items": list(items), "problems": {}, "text": "2 texts"}
    return Execution(status, "", (value,))


def run_plan(task, plan, items=None, status="ok", rename="E"):
    """An episode that ran a plan; its last expert gives the items, by default what is right."""
    items = task.gold["references"] if items is None else items
    nodes = [node for level in ready_sets(plan, read_signature(task.inputs)) for node in level]
    seen = []
    for node in nodes:
        inputs = [one.replace("E", rename) if one[1:].isdecimal() else one for one in node.inputs]
        action = Action((node.variable.replace("E", rename),), node.expert, json.dumps(inputs))
        seen.append((action, execution(items, status if node is nodes[-1] else "ok")))
    return EpisodeResult("text", seen=seen)


def scores(task, result, **options):
    return {one.metric: one.value for one in score_episode(task, result, **options)}


def test_every_gold_plan_scores_1(tasks):
    for task in tasks.values():
        compared = ["chrf"] if task.inputs["output"] == "text" and task.gold["references"] else []
        expected = dict.fromkeys([*NAMES, *compared], 1.0)
        assert scores(task, run_plan(task, read_wire(task.gold["plan"]))) == expected, task.row


def test_variables_may_have_other_names(tasks):
    assert scores(tasks["177"], run_plan(tasks["177"], TASKS[177].plan, rename="R"))["plan_exact"] == 1


def test_a_plan_of_another_order_is_feasible_and_not_exact(tasks):
    task = tasks["12"]
    found = scores(task, run_plan(task, Plan((), ("Image Denoising", "Image Super Resolution"))))
    assert found == {"feasible": 1, "recovery": 1, "plan_exact": 0, "plan_set": 1, "plan_order": 0.5}


def test_a_plan_with_less_or_more_says_which(tasks):
    task = tasks["12"]
    found = score_episode(task, run_plan(task, Plan((), ("Image Denoising", "Colorization")), ["wrong", "wrong"]))
    assert [(one.metric, round(one.value, 3)) for one in found] == [
        ("feasible", 1),
        ("recovery", 0),
        ("plan_exact", 0),
        ("plan_set", 0.333),
        ("plan_order", 0.5),
    ]
    assert found[2].detail == "missing: Image Super Resolution; wasted: Colorization"


@pytest.mark.parametrize(
    "result",
    [
        EpisodeResult(None, Ending.INFEASIBLE),
        EpisodeResult("text", Ending.ANSWERED),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Captioning", '["image"]'), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Painting", '["image"]'), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Denoising", '["video"]'), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Denoising", "image"), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Denoising", "[" * 100_000), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Denoising", "[[1]]"), execution())]),
        EpisodeResult("text", seen=[(Action((), "Image Denoising", '["image"]'), execution())]),
        EpisodeResult("text", seen=[(Action(("E1",), "Image Denoising", '["image"]'), execution())] * 2),
    ],
    ids=["ending", "nothing ran", "type", "name", "channel", "no list", "deep", "no names", "no variable", "repeated"],
)
def test_what_cannot_run_scores_0_in_everything(tasks, result):
    task = tasks["13"]
    right = EpisodeResult(
        result.answer, result.ending, [(a, execution(task.gold["references"])) for a, _ in result.seen]
    )
    found = score_episode(task, right)
    assert {one.metric: one.value for one in found} == NONE and found[0].detail
    assert ("was proposed" in found[0].detail) == (result.ending == Ending.INFEASIBLE)


def test_the_plan_of_another_category_scores_0(tasks):
    for task in tasks.values():
        for other in (TASKS[0], TASKS[100], TASKS[105], TASKS[116], TASKS[130], TASKS[184]):
            if other.category == task.gold["category"] or other.signature == read_signature(task.inputs):
                continue
            result = EpisodeResult("text", seen=run_other(other, task))
            assert scores(task, result)["feasible"] == 0, (task.row, other.id)


def run_other(other, task):
    nodes = [node for level in ready_sets(other.plan, other.signature) for node in level]
    right = execution(task.gold["references"])
    return [(Action((node.variable,), node.expert, json.dumps(node.inputs)), right) for node in nodes]


def test_experts_that_were_not_chained_are_not_the_plan(tasks):
    """Both run on the task's own image: the second undoes nothing of what the first left."""
    names = ("Image Super Resolution", "Image Denoising")
    seen = [
        (Action((f"E{number}",), name, '["image"]'), execution(tasks["12"].gold["references"]))
        for number, name in enumerate(names)
    ]
    assert scores(tasks["12"], EpisodeResult("text", seen=seen)) == NONE


def test_an_expert_that_fails_keeps_the_plan_feasible(tasks):
    task = tasks["14"]
    for status in ("execution_error", "skipped"):
        found = scores(task, run_plan(task, TASKS[14].plan, status=status))
        assert (found["feasible"], found["recovery"], found["plan_exact"]) == (1, 0, 1)


def test_samples_count_one_by_one(tasks):
    task = tasks["14"]
    first, second = task.gold["references"]
    found = {one.metric: one for one in score_episode(task, run_plan(task, TASKS[14].plan, [first, None]))}
    assert (found["recovery"].value, found["recovery"].of, found["recovery"].detail) == (0.5, 2, "1 of 2")
    assert scores(task, run_plan(task, TASKS[14].plan, [second, first]))["recovery"] == 0
    for odd in ([first], [first, second, second], [1, {}]):
        assert scores(task, run_plan(task, TASKS[14].plan, odd))["recovery"] == 0


def test_values_are_compared_by_what_the_task_gives(tasks):
    """A text with the reference, a picture's bytes with the reference's; pictures from text with their caption, too."""
    same = Comparison("same", Kind.IMAGE, lambda value, wanted: float(value == wanted))
    texts = Comparison("begins", Kind.TEXT, lambda value, wanted: float(value[:1] == wanted[:1]))
    said = Comparison("said", Kind.IMAGE, lambda value, wanted: float(wanted in str(value)), source="captions")
    made = dict(benchmark.artifacts)
    image, picture, text = tasks["14"], tasks["106"], tasks["113"]
    result = run_plan(image, TASKS[14].plan, [image.gold["references"][0], None])
    loaded = EpisodeResult("text", seen=result.seen, artifact=made.__getitem__)
    assert scores(image, loaded, comparisons=(same, texts, said))["same"] == 0.5
    assert set(scores(image, loaded, comparisons=(same, texts, said))) == {*NAMES, "same"}
    done = run_plan(text, TASKS[113].plan, [text.gold["references"][0], "?"])
    assert scores(text, done, comparisons=(same, texts, said))["begins"] == 0.5
    drawn = run_plan(picture, TASKS[106].plan, ["one", "other"])
    shown = EpisodeResult("t", seen=drawn.seen, artifact={"one": picture.gold["captions"][0], "other": ""}.get)
    assert scores(picture, shown, comparisons=(said,))["said"] == 0.5
    assert scores(image, EpisodeResult(None, Ending.INFEASIBLE), comparisons=(same,))["same"] == 0


# --- agreement


A, B, C = Plan((), ("A", "B")), Plan((), ("B", "A", "C")), Plan((("A",), ()), ("B",))


def test_agreement_of_plans():
    assert (is_exact(A, A), is_exact(A, B), is_exact(A, C)) == (1, 0, 0)
    assert (overlap(A, B), overlap(A, C), overlap(A, Plan())) == (2 / 3, 1, 0)
    assert (order(A, B), order(B, A), order(A, C), order(A, Plan())) == (1 / 3, 1 / 3, 1, 0)
    assert overlap(Plan((), ("A", "A")), A) == 1 / 3
    assert overlap(Plan((), ("A", "A")), Plan((), ("A", "A", "B"))) == 2 / 3
    assert name_difference(B, A) == "wasted: C" and name_difference(A, B) == "missing: C" and not name_difference(A, C)


# --- reading


def test_samples_are_the_first_of_the_test_data(tasks):
    for task in tasks.values():
        assert all((one["samples"], one["split"]) == ([0, 1], "test") for one in task.inputs["sources"])
    text = load_sample("sentiments", "test", 1)
    assert (tasks["116"].inputs["channels"][0]["values"][1], tasks["116"].gold["references"][1]) == (
        text.texts["text"],
        text.target.en,
    )


def test_splits_and_samples(tasks):
    assert [len(list(benchmark.read(None, name, samples="1"))) for name in SPLITS] == [20, 110, 55, 185]
    assert all(len(one["values"]) == 2 for task in tasks.values() for one in task.inputs["channels"])
    first = next(iter(benchmark.read(None, "all")))
    assert len(first.inputs["channels"][0]["values"]) == 10 == len(first.gold["references"])


def test_tasks_share_their_inputs(tasks):
    """{noisy} pictures are the same whatever is asked of them, and text is masked in the same place."""
    by_source: dict[tuple, set] = {}
    for task in tasks.values():
        for channel, source in zip(task.inputs["channels"], task.inputs["sources"], strict=True):
            key = (source["source"], channel["name"], tuple(source["augmentations"]))
            by_source.setdefault(key, set()).add(tuple(channel["values"]))
    assert {len(found) for found in by_source.values()} == {1}
    assert (
        len(by_source) == 4 * 15 + 3 * 2 + 2 + 4
    )  # pictures, texts, questions about pictures, documents and questions


def test_pictures_that_tasks_name_are_there(tasks):
    list(benchmark.read(None, "all", samples="2"))
    named = set()
    for task in tasks.values():
        for channel in task.inputs["channels"]:
            named |= set(channel["values"]) if channel["kind"] == "image" else set()
        named |= set(task.gold["references"]) if task.inputs["output"] == "image" else set()
    assert named == set(benchmark.artifacts)


def test_gold_is_hidden_and_inputs_do_not_hold_the_answer(tasks):
    shown = json.dumps(tasks["114"].without_gold().inputs)
    assert tasks["114"].gold["references"][0] in ("positiv", "negativ") and "ativ" not in shown


def test_a_stronger_profile_gives_other_inputs_and_the_same_references(tasks):
    strong = {task.row: task for task in benchmark.read(None, "all", samples="2", profile="strong")}
    assert strong["13"].inputs["channels"] != tasks["13"].inputs["channels"]
    assert strong["13"].gold["references"] == tasks["13"].gold["references"]
    assert strong["106"].inputs["channels"] == tasks["106"].inputs["channels"]
    assert strong["13"].gold["augmentations"]["noise.variance"] == 0.08


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": "0"}, "from 1 to 1,000"),
        ({"samples": "ten"}, "from 1 to 1,000"),
        ({"samples": "9" * 5000}, "from 1 to 1,000"),
        ({"profile": "weak"}, "released, strong"),
    ],
)
def test_options_that_cannot_be_read_are_refused_in_a_line(options, said):
    with pytest.raises(SpecError, match=said) as refused:
        list(benchmark.read(None, "all", **options))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_baselines_are_of_the_scores(tasks):
    found = benchmark.baselines(list(tasks.values()))
    assert set(found) == {
        f"{rule}{metric}"
        for rule in ("keyword rule", "nearest demonstration")
        for metric in ("", ": plan_exact", ": plan_set", ": plan_order")
    }
    assert all(len(values) == 185 for values in found.values())
    assert {sum(values) for name, values in found.items() if name.startswith("keyword")} == {185}
    assert sum(found["nearest demonstration"]) > 150 and not any(found["nearest demonstration: plan_exact"])
