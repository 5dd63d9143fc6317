"""Instruct models behind a chat server in LUMOS's formulations: what is run, asked again, sent later, and taught."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.builds.annotations import annotation_of, one_pass_annotation_of
from lumos_queue.builds.stages import replies_of, stages_of, whole_plan
from lumos_queue.commands import Ask, Do, Note, Step
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import read_actions, read_plan, read_subgoal
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.records import Completion, Ending, Outcome, Task
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint

TASK = Task("wordmath", "digest", "1", "Ann has 12 boxes of 3 pens and loses 5 pens. How many are left?")
PLAN = (
    "Sure! Here is the plan:\n\n1. **Count** the pens in the boxes.\n2. Subtract the pens that she loses.\n\n"
    "Let me know if you need more."
)
FIRST, SECOND = "Subgoal 1: Count the pens in the boxes.", "Subgoal 2: Subtract the pens that she loses."
GROUNDING = "Here is the action:\n\n```python\nR1 = Calculator(12 * 3)  # 36 pens\n```\n\nIt gives **36**."


class Model:
    """Replies by role in order; it knows the role from what the prompt begins with, and keeps the prompts."""

    def __init__(self, **replies: list[str]):
        self.replies = {role: iter(texts) for role, texts in replies.items()}
        self.prompts: dict[str, list[str]] = {role: [] for role in replies}

    def __call__(self, prompt: str) -> str:
        role = "solver" if "solver" in self.replies else "grounder" if "Please ground" in prompt else "planner"
        self.prompts[role].append(prompt)
        return next(self.replies[role])


ITERATIVE = {
    "planner": [PLAN, f"{PLAN}\n\n{SECOND}", "Yes, we should stop planning. **31** pens are left."],
    "grounder": [GROUNDING, "Subgoal 2 needs:\n1. `R2 = Calculator(R1 - 5)`"],
}
ONE_PASS = {
    "planner": [PLAN],
    "grounder": [f"### Subgoal 1\n{GROUNDING}\n\n### Subgoal 2\n\n**Action:** R2 = Calculator(R1 - 5) = 31"],
}
INTEGRATED = {
    "solver": [
        f"**{FIRST}**\n\n**Actions:**\n```\nR1 = Calculator(12 * 3)\n```\n\n"
        f"**{SECOND}**\n\nActions: R2 = Calculator(R1 - 5)",
        f"No, I will keep planning.\n\n{SECOND}\n\nActions:\n- R2 = Calculator(R1 - 5)",
        "Yes, I will stop planning.",
    ]
}
WAYS = {"iterative": ITERATIVE, "one-pass": ONE_PASS, "integrated": INTEGRATED}


def run(
    name: str,
    reply: Callable[[str], str],
    journal: MemoryJournal | None = None,
    version: int = 3,
    scheme: str = "chat",
    framing: str = "train",
) -> tuple[Outcome, MemoryJournal, Agent]:
    """An episode with a real client and a server that answers by `reply`; its stop strings are none."""
    journal = journal or MemoryJournal()
    with FakeEndpoint(reply) as server:
        url = getattr(server, scheme)
        roles = FORMULATIONS.load(name).roles
        agent = Agent(dict.fromkeys(roles, url), "maths", framing)

        async def go() -> Outcome:
            endpoint = open_endpoint(url, Settings())
            try:
                maths = DOMAINS.load("maths").open_actions()
                made = Executor(dict.fromkeys(roles, endpoint), maths, Sampling(stop=()), 0)
                async with made.for_episode(TASK, 0) as perform:
                    formulation = FORMULATIONS.load(name).at_version(version)
                    return (await run_episode(formulation, TASK, agent, journal, perform)).outcome
            finally:
                await endpoint.close()

        return asyncio.run(go()), journal, agent


def noted(journal: MemoryJournal) -> list[str]:
    return [step.command.subgoal.text for step in journal.steps if isinstance(step.command, Note)]


def done(journal: MemoryJournal) -> list[str]:
    return [step.command.action.raw for step in journal.steps if isinstance(step.command, Do)]


def recorded(journal: MemoryJournal) -> list[RecordedStep]:
    """The steps as a database gives them back."""

    def row(step: Step) -> RecordedStep:
        command, detail, role, prompt = step.command, None, "", ""
        if isinstance(command, Ask):
            role, prompt = command.role, command.prompt
        elif isinstance(command, Note):
            detail = command.subgoal
        elif isinstance(command, Do):
            detail = command.action
        return RecordedStep(step.position, step.branch, command.digest, step.result, detail, role, prompt)

    return [row(step) for step in journal.steps]


@pytest.mark.parametrize("framing", ["train", "eval"])
@pytest.mark.parametrize("name", WAYS)
def test_an_instruct_model_solves_a_task_in_markdown(name, framing):
    outcome, journal, _ = run(name, Model(**WAYS[name]), framing=framing)

    assert outcome == Outcome("31", Ending.ANSWERED)
    assert noted(journal) == [FIRST, SECOND]
    assert done(journal) == ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5)"]


def test_later_prompts_have_what_was_read_in_the_notation():
    model = Model(**ITERATIVE)
    run("iterative", model)

    planner, grounder = model.prompts["planner"][-1], model.prompts["grounder"][-1]
    assert f"{FIRST}\n" in planner and f"No, I will keep planning. {SECOND}\n" in planner
    assert "R1 = Calculator(12 * 3)\n" in grounder and f"Subgoal to be grounded: {SECOND}" in grounder
    assert not re.search(r"Sure!|\*\*|```|36 pens|Let me know", planner + grounder)


def test_the_grounder_of_a_whole_plan_is_sent_the_plan_in_the_notation():
    model = Model(**ONE_PASS)
    run("one-pass", model)

    assert f"Subgoals to be grounded: {FIRST}; {SECOND}\n" in model.prompts["grounder"][0]


def test_later_prompts_of_a_solver_have_one_subgoal_with_its_actions():
    model = Model(**INTEGRATED)
    run("integrated", model)

    assert f"{FIRST} Actions: R1 = Calculator(12 * 3)\n" in model.prompts["solver"][1]
    assert "R2" not in model.prompts["solver"][1] and "**" not in model.prompts["solver"][1]
    assert f"No, I will keep planning. {SECOND} Actions: R2 = Calculator(R1 - 5)\n" in model.prompts["solver"][2]


@pytest.mark.parametrize("name", WAYS)
def test_a_reply_without_a_subgoal_is_followed_by_one_more_request(name):
    role = "solver" if name == "integrated" else "planner"
    replies = {**WAYS[name], role: ["", *WAYS[name][role]]}
    if name != "one-pass":
        replies[role].insert(2, "No, I will keep planning.")
    model = Model(**replies)
    outcome, journal, _ = run(name, model)

    assert outcome == Outcome("31", Ending.ANSWERED) and noted(journal) == [FIRST, SECOND]
    first, again, *others = model.prompts[role]
    assert again != first and "Subgoal 1: ..." in again and "Subgoal 1: ..." not in first
    assert not any("Subgoal 1: ..." in prompt for prompt in others)
    if name != "one-pass":
        assert [("Subgoal 2: ..." in prompt) for prompt in others] == [False, True, False]


@pytest.mark.parametrize("name", WAYS)
def test_a_second_reply_without_a_subgoal_is_unreadable(name):
    asked: list[str] = []
    outcome, journal, _ = run(name, lambda prompt: asked.append(prompt) or "No, I will keep planning.")

    assert outcome.ending == Ending.UNREADABLE and len(asked) == 2 and noted(journal) == []


@pytest.mark.parametrize("name", WAYS)
def test_an_interrupted_episode_continues_from_every_step_without_repeating_a_call(name):
    role = "solver" if name == "integrated" else "planner"
    replies = {**WAYS[name], role: ["", *WAYS[name][role]]}
    _, whole, _ = run(name, Model(**replies))
    for count in range(len(whole.steps) + 1):
        existing = whole.steps[:count]
        asked = [step.command.role for step in existing if isinstance(step.command, Ask)]
        rest = {role: texts[asked.count(role) :] for role, texts in replies.items()}
        outcome, journal, _ = run(name, Model(**rest), MemoryJournal(existing))

        assert outcome == Outcome("31", Ending.ANSWERED)
        assert [step.command for step in journal.steps] == [step.command for step in whole.steps]


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(("version", "scheme"), [(1, "chat"), (2, "chat"), (3, "openai")])
def test_other_jobs_read_replies_in_the_notation_alone(name, version, scheme):
    stops = "Yes, I will stop planning."
    model = Model(**{role: [replies[0], stops] for role, replies in WAYS[name].items()})
    _, journal, _ = run(name, model, version=version, scheme=scheme)

    if name == "integrated":
        assert noted(journal)[0].startswith(f"**{FIRST}**") and f"**{FIRST}**" in model.prompts["solver"][1]
        return
    prompt = model.prompts["grounder"][0]
    assert noted(journal)[0] == PLAN and PLAN in prompt
    assert done(journal)[0] == WAYS[name]["grounder"][0]


@pytest.mark.parametrize(("version", "scheme"), [(2, "chat"), (3, "openai")])
def test_other_jobs_do_not_ask_again_and_stop_at_the_phrase_wherever_it_is(version, scheme):
    asked: list[str] = []
    outcome, _, _ = run("iterative", lambda prompt: asked.append(prompt) or " ", version=version, scheme=scheme)
    assert outcome.ending == Ending.UNREADABLE and len(asked) == 1

    stopping = Model(planner=[f"Yes, I will stop planning. {FIRST}"], grounder=[])
    outcome, _, _ = run("iterative", stopping, version=version, scheme=scheme)
    assert outcome.ending == Ending.NO_ANSWER


def test_a_stop_phrase_that_a_further_subgoal_follows_does_not_stop():
    replies = {
        "planner": [FIRST, f"Yes, I will stop planning. {SECOND}", "Yes, I will stop planning."],
        "grounder": ITERATIVE["grounder"],
    }
    outcome, journal, _ = run("iterative", Model(**replies))

    assert outcome == Outcome("31", Ending.ANSWERED) and noted(journal) == [FIRST, SECOND]


def test_what_is_no_action_is_not_run_and_the_planner_is_sent_it_on_one_line():
    model = Model(planner=[FIRST, "Yes."], grounder=["I would compute\n\n12 * 3 = 36.\n" * 100])
    outcome, _, _ = run("iterative", model)

    assert outcome.ending == Ending.UNREADABLE
    (line,) = [line for line in model.prompts["planner"][1].splitlines() if line.startswith("The executed result")]
    assert (
        line.startswith("The executed result for Subgoal 1 is I would compute 12 * 3 = 36. I would") and len(line) < 400
    )


@pytest.mark.parametrize("name", ["iterative", "one-pass"])
def test_training_rows_are_in_the_notation(name):
    outcome, journal, _ = run(name, Model(**WAYS[name]))
    made = annotation_of if name == "iterative" else one_pass_annotation_of
    annotation = made(recorded(journal), outcome.answer)
    assert annotation
    conversations = gold_conversations(TASK, annotation, FORMULATIONS.load(name), Agent({}, "maths"))

    replies = {one.dataset: [turn.content for turn in one.turns if turn.role == "assistant"] for one in conversations}
    planner, grounder = replies[f"wordmath/{name}/planner"], replies[f"wordmath/{name}/grounder"]
    if name == "iterative":
        assert planner == [FIRST, f"No, I will keep planning. {SECOND}", "Yes, I will stop planning."]
        assert grounder == ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5)"]
    else:
        assert (planner, grounder) == ([f"{FIRST}; {SECOND}"], ["R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5)"])


def test_replies_that_are_given_again_read_the_same_for_every_model():
    replies = {**ITERATIVE, "planner": ["", *ITERATIVE["planner"]]}
    _, journal, _ = run("iterative", Model(**replies))
    steps = recorded(journal)

    planner, grounder = whole_plan(steps), replies_of(steps, "grounder")
    assert planner == [FIRST, f"No, I will keep planning. {SECOND}", "Yes, I will stop planning."]
    assert grounder == done(journal)
    assert [(one.plan, one.grounding) for one in stages_of(steps)] == list(zip(planner, grounder, strict=False))

    _, journal, _ = run("one-pass", Model(**ONE_PASS))
    (plan,), (grounding,) = replies_of(recorded(journal), "planner"), replies_of(recorded(journal), "grounder")
    assert [subgoal.text for subgoal in read_plan(plan)] == [FIRST, SECOND]
    assert [action.raw for action in read_actions(grounding)] == done(journal)


@pytest.mark.parametrize("name", ["iterative", "one-pass"])
def test_replies_in_the_notation_are_given_again_as_they_are(name):
    said = ["No, I will keep planning.  Subgoal 4: Count.", "go on", "Yes, I will stop planning, so."]
    replies = {
        "planner": said if name == "iterative" else ["Subgoal 1: a;  Subgoal 2: b."],
        "grounder": ["R1 = Calculator(12*3) = 36.", "R2 = R1"],
    }
    _, journal, _ = run(name, Model(**replies), version=2)
    steps = recorded(journal)

    replied = [step.result.text for step in steps if step.role == "planner" and isinstance(step.result, Completion)]
    assert replies_of(steps, "planner") == replied == replies["planner"]
    assert replies_of(steps, "grounder") == replies["grounder"][: 2 if name == "iterative" else 1]
    if name == "iterative":
        assert [stage.plan for stage in stages_of(steps)] == said[:2]
        assert [read_subgoal(text, number) for number, text in enumerate(said[:2], 1)] == [
            stage.subgoal for stage in stages_of(steps)
        ]
