"""Runs of experts: what they are given, what becomes of samples that fail, and which runs are made but once."""

from __future__ import annotations

import asyncio
import json

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import NEEDED, open_experts, prepare_experts, resolve_backend
from lumos_queue.commands import Call, Do
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.errors import SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.backends.oracle import oracle_facts
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import DIED, Problem
from lumos_queue.records import Action, Ending, Execution, Outcome, Task
from tests.expert_tasks import ALL, calls_of, make_task, run_task
from tests.fake_expert_host import FakeExpertHost, use_fakes

QUESTIONED = next(
    one
    for one in ALL
    if one.category == "image+text-text"
    and one.plan.names == ("Image Super Resolution", "Fill Mask", "Visual Question Answering")
)
FUNCTIONS = {
    "Image Super Resolution": lambda image: image + b"",
    "Image Denoising": lambda image: image[::-1],
    "Fill Mask": lambda text: text.replace(b"[MASK]", b"word"),
    "Visual Question Answering": lambda image, question: b"%d %s" % (len(image), question),
    "Image Captioning": lambda image: b"a thing",
}


def texts(*values: str | None, name: str = "text") -> dict:
    return {"channels": [{"name": name, "kind": "text", "values": list(values)}], "output": "text"}


def act(monkeypatch, inputs: dict, *actions: Action, functions=FUNCTIONS, host=None) -> tuple[list[Execution], list]:
    """What the actions give, one after the other."""
    tools = use_fakes(monkeypatch)
    interface = ExpertActions(tools, host=host or FakeExpertHost(functions))

    def formulation(_task, _agent):
        for one in actions:
            yield Do(one)
        return Outcome(None, Ending.NO_ANSWER)

    journal = MemoryJournal()

    async def run() -> list[Execution]:
        session = interface.begin(Task("x", "d", "1", "", inputs))

        async def perform(command, context: StepContext):
            if isinstance(command, Call):
                return await interface.local_tools[command.tool](command.arguments, command.nth, context)
            return await session.execute(command.action, context)

        done = await run_episode(formulation, Task("x", "d", "1", "", inputs), None, journal, perform)
        return [execution for _, execution in done.actions]

    return asyncio.run(run()), calls_of(journal)


def test_a_call_names_the_digests_of_what_it_runs_on(monkeypatch):
    (done,), (call,) = act(monkeypatch, texts("a [MASK]", "b"), Action(("E1",), "Fill Mask", '["text"]'))
    assert done.ok and done.values[0]["items"] == ["a word", "b"] and done.result == "a word | b"
    assert done.values[0]["type"] == "text"
    arguments = call.command.arguments
    assert arguments["expert"] == "Fill Mask" and len(arguments["inputs"]) == 1 and len(arguments["inputs"][0]) == 2
    assert call.result.provenance == "live" and "origins" not in arguments


def test_samples_fail_one_by_one(monkeypatch):
    def fill(text: bytes) -> bytes | Problem:
        return Problem(DIED, "it died") if text == b"b" else text.upper()

    functions = {"Fill Mask": fill, "Text Summarization": lambda text: text + b"!"}
    steps = (Action(("E1",), "Fill Mask", '["text"]'), Action(("E2",), "Text Summarization", '["E1"]'))
    (first, second), calls = act(monkeypatch, texts("a", "b", None, "c"), *steps, functions=functions)
    assert first.ok and first.values[0]["items"] == ["A", None, None, "C"]
    assert first.values[0]["problems"] == {"1": "died: it died", "2": "no value of text: the task has none"}
    assert second.ok and second.values[0]["items"] == ["A!", None, None, "C!"]
    assert second.values[0]["problems"]["1"] == "no value of E1: died: it died"
    assert second.values[0]["problems"]["2"] == "no value of text: the task has none", "where it began"
    assert second.result == "A! | C!; 2 without a value"
    assert [len(one.command.arguments["inputs"][0]) for one in calls] == [3, 2], "what has no value is not run"


def test_a_problem_is_that_of_its_sample(monkeypatch):
    functions = {"Fill Mask": lambda text: Problem(DIED, text.decode())}
    (done,), _ = act(monkeypatch, texts(None, "b"), Action(("E1",), "Fill Mask", '["text"]'), functions=functions)
    assert done.values[0]["problems"] == {"0": "no value of text: the task has none", "1": "died: b"}


def test_a_sample_needs_a_value_for_each_slot(monkeypatch):
    channels = texts("a", "b", name="document")["channels"] + texts("c", None, name="question")["channels"]
    functions = {"Question Answering": lambda *given: b" ".join(given)}
    action = Action(("E1",), "Question Answering", '["document", "question"]')
    (done,), _ = act(monkeypatch, {"channels": channels}, action, functions=functions)
    assert done.values[0]["items"] == ["a c", None]
    assert done.values[0]["problems"] == {"1": "no value of question: the task has none"}
    channels[1]["values"] = ["c"]
    (done,), calls = act(monkeypatch, {"channels": channels}, action, functions=functions)
    assert done.status == "bad_value" and "different numbers" in done.message and not calls


def test_an_action_sets_one_variable(monkeypatch):
    (done,), calls = act(monkeypatch, texts("a"), Action(("E1", "E2"), "Fill Mask", '["text"]'))
    assert done.status == "arity" and not calls


def test_no_sample_with_a_value_makes_no_call(monkeypatch):
    (done,), calls = act(monkeypatch, texts(None, None), Action(("E1",), "Fill Mask", '["text"]'))
    assert done.ok and done.values[0]["items"] == [None, None] and not calls


def test_what_depends_on_a_failed_run_is_skipped(monkeypatch):
    names = ["Sentiment Analysis", "Machine Translation", "Text Summarization"]
    steps = [Action((f"E{n + 1}",), name, json.dumps([f"E{n}" if n else "text"])) for n, name in enumerate(names)]
    done, _ = act(monkeypatch, texts("a"), *steps)
    assert [one.status for one in done] == ["expert", "skipped", "skipped"]
    assert done[1].message == "E1 has no value, as what should set it failed"


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("Nothing", '["text"]', "unknown_action"),
        ("fill mask", '["text"]', "unknown_action"),
        ("Fill Mask", "text", "invalid_arguments"),
        ("Fill Mask", "[]", "invalid_arguments"),
        ("Fill Mask", '["text", "text"]', "invalid_arguments"),
        ("Fill Mask", "[1]", "invalid_arguments"),
        ("Fill Mask", "[" * 100_000, "invalid_arguments"),
        ("Fill Mask", json.dumps(["a" * 2000]), "invalid_arguments"),
        ("Fill Mask", '["a\\u0000"]', "undefined_variable"),
        ("Fill Mask", '["image"]', "undefined_variable"),
        ("Image Denoising", '["text"]', "wrong_type"),
    ],
)
def test_actions_that_cannot_run(monkeypatch, name, arguments, status):
    (done,), calls = act(monkeypatch, texts("a"), Action(("E1",), name, arguments))
    assert done.status == status and done.message and "\0" not in done.message and not calls


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        (texts("a" * 60_001), "too_large"),
        (texts(*["a" * 60_000] * 40), "too_large"),
        (texts(*["a"] * 1001), "too_large"),
        (texts(), "bad_value"),
        (texts(1), "bad_value"),
        ({"channels": [{"name": "text", "kind": "text", "values": "a"}]}, "bad_value"),
        ({"channels": "x"}, "undefined_variable"),
        ({"channels": 5}, "undefined_variable"),
        ({"channels": ["x"]}, "undefined_variable"),
        ({}, "undefined_variable"),
        ({"channels": [{"name": "text", "kind": "sound", "values": ["a"]}]}, "undefined_variable"),
    ],
)
def test_hostile_inputs(monkeypatch, inputs, status):
    (done,), _ = act(monkeypatch, inputs, Action(("E1",), "Fill Mask", '["text"]'))
    assert done.status == status


def test_an_image_is_named_by_its_digest_alone(monkeypatch):
    inputs = {"channels": [{"name": "image", "kind": "image", "values": ["../../etc/passwd"]}]}
    (done,), _ = act(monkeypatch, inputs, Action(("E1",), "Image Denoising", '["image"]'))
    assert done.status == "bad_value"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (b"\xff", "bad_output: expected UTF-8"),
        (b"a" * 60_001, "bad_output: a text of 60,001 characters: at most 60,000"),
    ],
)
def test_what_an_expert_answers_is_checked(monkeypatch, given, problem):
    (done,), _ = act(
        monkeypatch, texts("a"), Action(("E1",), "Fill Mask", '["text"]'), functions={"Fill Mask": lambda text: given}
    )
    assert done.ok and done.values[0]["problems"] == {"0": problem}


def test_text_that_no_database_stores_is_replaced(monkeypatch):
    (done,), _ = act(
        monkeypatch, texts("a"), Action(("E1",), "Fill Mask", '["text"]'), functions={"Fill Mask": lambda text: b"a\0b"}
    )
    assert done.values[0]["items"] == ["a\N{REPLACEMENT CHARACTER}b"]


def test_equal_runs_are_made_once_side_by_side_and_one_after_the_other(monkeypatch):
    tools = use_fakes(monkeypatch)
    host = FakeExpertHost(FUNCTIONS, delay=0.05)
    actions = ExpertActions(tools, host=host)

    async def run() -> list:
        episodes = [run_task(*make_task(QUESTIONED), QUESTIONED.plan.write(), actions) for _ in range(20)]
        found = await asyncio.gather(*episodes)
        found.append(await run_task(*make_task(QUESTIONED), QUESTIONED.plan.write(), actions))
        await actions.close()
        return found

    found = asyncio.run(run())
    assert len(host.spans) == 3, "one run of each expert for 21 episodes"
    assert len({run.outcome for run, _ in found}) == 1
    counted = [one.result.provenance for _, journal in found for one in calls_of(journal)]
    assert counted.count("live") == 3 and counted.count("recorded") == 60, "each episode has rows of its own"
    images = {frozenset(journal.artifacts) for _, journal in found}
    assert len(images) == 1 and len(next(iter(images))) == 2, "each episode keeps what its rows name"


def test_runs_with_a_problem_are_not_used_again(monkeypatch):
    tools, tried = use_fakes(monkeypatch), []

    def flaky(text: bytes) -> bytes | Problem:
        tried.append(text)
        return Problem(DIED, "killed") if len(tried) == 1 else text

    actions = ExpertActions(tools, host=FakeExpertHost({"Fill Mask": flaky}))
    spec = next(one for one in ALL if one.plan.names == ("Sentiment Analysis",))
    task, _ = make_task(spec, [0])

    async def run() -> list:
        return [await run_task(task, {}, "Fill Mask", actions) for _ in range(3)]

    runs = asyncio.run(run())
    assert [one.actions[0][1].values[0]["problems"] for one, _ in runs] == [{"0": "died: killed"}, {}, {}]
    assert len(tried) == 2


def test_a_failed_run_is_not_used_again_and_ends_the_plan(monkeypatch):
    actions = ExpertActions(use_fakes(monkeypatch), host=FakeExpertHost({}))
    run, _ = asyncio.run(run_task(*make_task(QUESTIONED), QUESTIONED.plan.write(), actions))
    assert run.outcome == Outcome(None, Ending.ACTION_ERROR, "skipped: E1 has no value, as what should set it failed")
    assert not actions._runs._cache and not actions._runs._active_runs


def test_an_episode_that_is_cancelled_leaves_the_run_to_the_others(monkeypatch):
    host = FakeExpertHost(FUNCTIONS, delay=0.1)
    actions = ExpertActions(use_fakes(monkeypatch), host=host)

    async def run():
        first, second = (
            asyncio.ensure_future(run_task(*make_task(QUESTIONED), QUESTIONED.plan.write(), actions)) for _ in range(2)
        )
        await asyncio.sleep(0.05)
        first.cancel()
        return await second

    done, _ = asyncio.run(run())
    assert done.outcome.ending == Ending.ANSWERED and len(host.spans) == 3


def test_branches_overlap_in_time_and_give_the_bytes_of_one_after_the_other(monkeypatch):
    def run(delay: float, one_by_one: bool) -> tuple[list, dict]:
        host = FakeExpertHost(FUNCTIONS, delay)
        actions = ExpertActions(use_fakes(monkeypatch), host=host)
        if one_by_one:
            turn, run_one = asyncio.Lock(), host.run

            async def run_alone(facts, inputs):
                async with turn:
                    return await run_one(facts, inputs)

            host.run = run_alone
        done, journal = asyncio.run(run_task(*make_task(QUESTIONED), QUESTIONED.plan.write(), actions))
        values = {action.variables: execution.values for action, execution in done.actions}
        return host.spans, {"values": values, "artifacts": journal.artifacts, "outcome": done.outcome}

    together, found = run(0.1, False)
    (_, began, ended), (_, other_began, other_ended), _ = together
    assert began < other_ended and other_began < ended, "both branches run before either ends"
    apart, again = run(0.0, True)
    assert apart[0][2] <= apart[1][1] or apart[1][2] <= apart[0][1]
    assert found == again


# --- options


def resolve(expert: str, url: str) -> BackendFacts:
    if url.startswith("hf:"):
        raise SpecError(f"not run: needs {url[3:]}")
    return oracle_facts(EXPERTS[expert])


def test_what_is_not_there_is_said_at_submission():
    with pytest.raises(SpecError, match=r"needs yiyanghkust/finbert-tone \(14 of 14 experts cannot run"):
        prepare_experts({}, resolve)
    with pytest.raises(SpecError, match="needs x"):
        prepare_experts({"experts": "oracle", "text-generation": "hf:x"}, resolve)
    assert len(NEEDED) == 14


def test_the_option_of_one_expert_goes_before_that_of_all():
    found = prepare_experts({"experts": "oracle", "image-denoising": "own:"}, resolve)
    assert found["experts"] == "oracle" and set(open_experts(found, resolve)) == set(EXPERTS)


@pytest.mark.parametrize("tools", [{"experts": "best"}, {"image-denoise": "own:"}, {"records": "x"}])
def test_unknown_options(tools):
    with pytest.raises(SpecError):
        prepare_experts(tools, resolve)


def test_other_experts_than_submitted_are_refused():
    found = prepare_experts({"experts": "oracle"})
    changed = {**found, "experts_sha256": "0" * 64}
    assert set(open_experts(found, resolve_backend)) == set(EXPERTS)
    with pytest.raises(SpecError, match="not those that the job was submitted with"):
        open_experts(changed, resolve_backend)


def test_experts_that_are_gone_are_counted_and_one_reason_is_given():
    def down(expert: str, url: str) -> BackendFacts:
        raise SpecError("nothing answers")

    with pytest.raises(SpecError, match=r"Missing: 14 of 14; Sentiment Analysis: nothing answers$") as refused:
        open_experts(prepare_experts({"experts": "oracle"}), down)
    assert str(refused.value).count("nothing answers") == 1


def test_an_expert_without_a_backend_says_so(monkeypatch):
    tools = use_fakes(monkeypatch, [name for name in EXPERTS if name != "Text Generation"])
    actions = ExpertActions(tools, host=FakeExpertHost(FUNCTIONS))
    spec = next(one for one in ALL if one.plan.names == ("Sentiment Analysis",))
    run, _ = asyncio.run(run_task(*make_task(spec), "Text Generation", actions))
    assert run.outcome.ending == Ending.ACTION_ERROR and "--tool text-generation=…" in run.outcome.message


def test_what_experts_that_are_no_oracles_give_is_of_no_known_origin(monkeypatch):
    """Else an oracle after one would give the clean original, whatever it had made of it."""
    spec = next(one for one in ALL if one.plan.names == ("Image Denoising",))
    actions = ExpertActions(use_fakes(monkeypatch), host=FakeExpertHost(FUNCTIONS))
    run, _ = asyncio.run(run_task(*make_task(spec), "Image Denoising", actions))
    assert run.actions[0][1].ok and "origins" not in run.actions[0][1].values[0]


def test_pictures_that_all_fail_are_a_value_without_any(monkeypatch):
    spec = next(one for one in ALL if one.plan.names == ("Image Denoising",))
    host = FakeExpertHost({"Image Denoising": lambda image: Problem(DIED, "killed")})
    run, _ = asyncio.run(
        run_task(*make_task(spec), "Image Denoising", ExpertActions(use_fakes(monkeypatch), host=host))
    )
    assert run.actions[0][1].ok and run.actions[0][1].result == "0 images; 2 without a value"
