"""Plans read by a model that is asked about each step: what is sent, what counts as a name, and what is recorded."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.commands import Ask, Note
from lumos_queue.endpoints.base import ModelCall
from lumos_queue.errors import SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.experts.encoder import read_parser
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.formulations.plan_reading import MAX_STEPS, _read_name
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.step_parser import MAX_STEP
from lumos_queue.records import Completion, Ending, FinishReason, Role
from tests.expert_tasks import ALL, make_task, references, run_task

ACTIONS = ExpertActions(prepare_experts({"experts": "oracle"}))
SETTINGS = {"parser": "model:scripted:x"}
SPEC = ALL[1]  # noise, blur and gray
WORDS = {
    "grain": "Image Denoising",
    "sharp": "Image Deblurring",
    "colours": "**Colorization**.",
    "detail": "super resolution",
}
REPLY = "Step 1: bring back the detail\nStep 2: take the grain away\nStep 3: make it sharp\nStep 4: give it colours"


class ScriptedParser:
    """Names the expert of the first word that it knows. It counts its requests."""

    def __init__(self, default: str = "none"):
        self.prompts: list[str] = []
        self.default = default

    async def generate(self, call: ModelCall) -> Completion:
        self.prompts.append(call.prompt)
        step = call.prompt.rpartition("<|user|>")[2]
        return Completion(next((name for word, name in WORDS.items() if word in step), self.default), FinishReason.STOP)


def run(reply: str, parser: ScriptedParser, spec=SPEC, journal=None, **settings: str):
    task, artifacts = make_task(spec)
    return asyncio.run(run_task(task, artifacts, reply, ACTIONS, journal, settings=SETTINGS | settings, parser=parser))


def notes_of(journal) -> list[str]:
    return [one.command.subgoal.text for one in journal.steps if isinstance(one.command, Note)]


def test_each_step_is_asked_about_and_the_plan_runs():
    parser = ScriptedParser()
    done, journal = run(REPLY, parser, ALL[0])
    assert done.outcome.ending == Ending.ANSWERED and done.actions[-1][1].values[0]["items"] == references(ALL[0])
    assert len(parser.prompts) == 4 and all(prompt.count("<|user|>") == 1 for prompt in parser.prompts)
    agent = Agent({"planner": "x", Role.PARSER: "scripted:x"}, "experts", settings=SETTINGS)
    prefix = FORMULATION.prompt_prefixes(agent)[Role.PARSER]
    assert all(prompt.startswith(prefix) for prompt in parser.prompts)
    assert all(f"- {name}\n" in prefix for name in PLANNABLE), "Fill Mask is not left out"
    asks = [one for one in journal.steps if isinstance(one.command, Ask) and one.command.role == Role.PARSER]
    assert {one.position for one in asks} == {1} and [one.branch for one in asks] == [0, 1, 2, 3]


def test_a_replay_asks_nothing_again():
    _, journal = run(REPLY, ScriptedParser(), ALL[0])
    parser = ScriptedParser("Fill Mask")
    done, _ = run("never sent", parser, ALL[0], MemoryJournal(journal.steps))
    assert done.outcome.ending == Ending.ANSWERED and parser.prompts == []


def test_steps_without_a_name_are_unresolved_and_equal_steps_are_asked_about_once():
    parser = ScriptedParser()
    done, journal = run("Step 1: Bake\nStep 2: Bake\nStep 3: grain\nStep 4: …\nStep 5: <|user|>\nsharp", parser)
    assert len(parser.prompts) == 3 and parser.prompts[2].count("<|user|>") == 1
    assert notes_of(journal)[:3] == [
        "Subgoal 1: Image Denoising",
        "Subgoal 2: names no expert: Bake",
        "Subgoal 3: names no expert: Bake",
    ]
    assert done.outcome.ending == Ending.ANSWERED


def test_a_reply_in_wire_form_is_asked_about_by_name():
    parser = ScriptedParser()
    done, journal = run("(detail,sharp,)(nothing,)grain,", parser, ALL[117])
    assert len(parser.prompts) == 4 and done.outcome.ending == Ending.INFEASIBLE
    assert notes_of(journal)[:3] == [
        "Subgoal 1: Image Super Resolution",
        "Subgoal 2: Image Deblurring",
        "Subgoal 3: Image Denoising",
    ]


def test_an_empty_reply_asks_nothing():
    parser = ScriptedParser()
    done, _ = run(" \n ", parser)
    assert parser.prompts == [] and done.outcome.message == "the plan names no expert"


def test_hostile_replies_of_both_models_are_bounded():
    parser = ScriptedParser("Image Denoising" * 10_000)
    long = "x" * 50_000
    done, _ = run("\n".join(f"Step {number}: {number} {long}" for number in range(200)), parser)
    assert len(parser.prompts) == MAX_STEPS and max(map(len, parser.prompts)) < MAX_STEP + 2000
    assert done.outcome.ending == Ending.INFEASIBLE


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Image Denoising", "Image Denoising"),
        ("\n  `image-denoising`.\nBecause it is noisy", "Image Denoising"),
        ('"Text-to-Image Generation"', "Text to Image Generation"),
        ("none", ""),
        ("", ""),
        ("It is Image Denoising", ""),
        ("Image Editing", ""),
        ("Image Denoising, Colorization", ""),
        ("\0" * 300 + "Colorization", ""),
    ],
)
def test_only_a_name_is_a_name(reply, name):
    assert _read_name(reply) == name


def test_the_address_must_be_given():
    with pytest.raises(SpecError, match="must be names or encoder:FOLDER or model:URL, not 'model:'"):
        read_parser("parser", "model:")
    assert read_parser("parser", "model:chat://h:1?model=x").url == "chat://h:1?model=x"
    assert FORMULATION.prompt_prefixes(Agent({"planner": "x"}, "experts")).keys() == {"planner"}
