"""Constrained plans of model synthesis: on local models of random weights, and on scripts that do not keep to them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.commands import Ask, Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.execution.executor import Executor, derive_seed
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.graph import read_signature
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import read_wire
from lumos_queue.prompts.model_synthesis import planner_prompt
from lumos_queue.records import Completion, Ending, FinishReason, Task
from lumos_queue.settings import Settings
from tests.expert_tasks import ALL, make_task, run_task
from tests.tiny_model import make_tiny_model
from tests.tiny_t5 import make_tiny_t5

TOOLS = prepare_experts({"experts": "oracle"})
LINEAR, JOINED = ALL[0], ALL[117]
SETTINGS = Settings(request_seconds=60.0, request_retries=0, api_keys=None, endpoint_hosts="", concurrency=64)
CONSTRAINED = {"decoding": "constrained", "schema": "fine-tuning"}


@pytest.fixture(scope="module", params=["causal", "t5"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    make_tiny_model(folder, context=1024) if request.param == "causal" else make_tiny_t5(folder)
    return folder


def run(planner, spec, journal=None, sampling=None, **settings):
    """An episode with a script's replies, or with the local model in a folder."""

    async def once():
        endpoint = planner
        if not isinstance(planner, Scripted | Seeded):
            endpoint = open_endpoint(f"local:{planner}", SETTINGS)
        try:
            return await run_task(
                *make_task(spec), endpoint, ExpertActions(TOOLS), journal, CONSTRAINED | settings, sampling
            )
        finally:
            await endpoint.close()

    return asyncio.run(once())


def asks_of(journal):
    return [(one.command, one.result) for one in journal.steps if isinstance(one.command, Ask)]


@pytest.mark.parametrize("spec", [LINEAR, JOINED, ALL[180]], ids=["linear", "image and text", "two texts"])
@pytest.mark.parametrize("search", ["together", "apart"])
def test_a_random_model_writes_feasible_plans_and_the_episode_replays(folder, spec, search):
    done, journal = run(folder, spec, search=search, candidates="4")
    assert done.outcome.ending != Ending.INFEASIBLE, done.outcome.message
    asked = asks_of(journal)
    assert len(asked) == (len(spec.channels) if search == "apart" else 1)
    for ask, reply in asked:
        assert ask.n == 4 and ask.constraint.accepts(reply.text)
        assert len(reply.candidates) == 4 and all(ask.constraint.accepts(one.text) for one in reply.candidates)
        assert reply.text == reply.candidates[0].text
    assert any(isinstance(one.command, Do) for one in journal.steps)
    again, replayed = run(Scripted([]), spec, MemoryJournal(journal.steps), search=search, candidates="4")
    assert again.outcome == done.outcome and replayed.steps == journal.steps, "nothing is asked again"


def test_searches_apart_keep_what_was_chosen_for_each_input(folder):
    _, journal = run(folder, JOINED, search="apart", candidates="2")
    (first, branch), (second, plan) = asks_of(journal)
    assert first.prompt == second.prompt and first.digest != second.digest
    assert (first.constraint.branches, first.constraint.until_branch) == ((), True)
    chosen = read_wire(branch.text)
    assert chosen.tail == () and len(chosen.branches) == 1
    assert (second.constraint.branches, second.constraint.until_branch) == (chosen.branches, False)
    assert all(read_wire(one.text).branches[0] == chosen.branches[0] for one in plan.candidates)
    _, whole = run(folder, JOINED, search="together")
    ((_, together),) = asks_of(whole)
    assert read_wire(together.text).branches[0] == chosen.branches[0], "one beam chooses the branch alike"


def test_a_plan_that_need_not_reach_the_goal_may_be_infeasible(folder):
    _, journal = run(folder, LINEAR, goal="free", candidates="40")
    ((ask, reply),) = asks_of(journal)
    assert all(ask.constraint.accepts(one.text) for one in reply.candidates)
    aware = PlanConstraint(ask.constraint.signature)
    reaching = [aware.accepts(one.text) for one in reply.candidates]
    assert any(reaching) and not all(reaching)
    done, journal = run(Scripted(["Image Captioning,"]), LINEAR, goal="free")
    assert not asks_of(journal)[0][1].note, "it is allowed"
    assert (done.outcome.ending, done.outcome.message) == (
        Ending.INFEASIBLE,
        "the plan ends in text, the task asks for image",
    )


def test_a_script_that_keeps_to_the_constraint_is_run():
    done, journal = run(Scripted([LINEAR.plan.write()]), LINEAR)
    assert done.outcome.ending == Ending.ANSWERED
    ((_, reply),) = asks_of(journal)
    assert not reply.note


def test_a_feasible_list_of_steps_is_not_what_was_asked_for():
    steps = "\n".join(f"Step {number}: {name}" for number, name in enumerate(LINEAR.plan.names, start=1))
    done, journal = run(Scripted([steps]), LINEAR)
    assert done.outcome.ending == Ending.INFEASIBLE
    assert done.outcome.message.startswith("the reply is not a plan that is allowed here: 'Step 1: ")
    assert asks_of(journal)[0][1].note.startswith("judged afterwards: ")
    assert run(Scripted([steps]), LINEAR, decoding="free")[0].outcome.ending == Ending.ANSWERED


def test_a_whole_plan_is_no_branch():
    script = Scripted([JOINED.plan.write(), "never asked for"])
    done, journal = run(script, JOINED, search="apart")
    assert done.outcome.ending == Ending.INFEASIBLE and len(asks_of(journal)) == 1
    assert done.outcome.message.startswith("the reply is not a branch that is allowed here: '(")


def test_without_a_feasible_plan_the_model_is_not_asked():
    channels = [{"name": name, "kind": "image", "values": []} for name in ("a", "b", "c")]
    task = Task("x", "d", "1", "?", {"channels": channels, "output": "text"})
    script = Scripted([])
    done, journal = asyncio.run(run_task(task, {}, script, ExpertActions(TOOLS), settings=CONSTRAINED))
    assert done.outcome.ending == Ending.INFEASIBLE and not script.prompts and not journal.steps
    assert "\n" not in done.outcome.message and "No plan can be asked for" in done.outcome.message


def test_by_default_nothing_is_asked_differently():
    task, artifacts = make_task(LINEAR)
    _, journal = asyncio.run(run_task(task, artifacts, LINEAR.plan.write(), ExpertActions(TOOLS)))
    ((ask, _),) = asks_of(journal)
    plain = Ask("planner", ask.prompt)
    assert ask == plain and ask.digest == plain.digest


def test_the_prompt_of_fine_tuning_is_a_training_conversations_whatever_the_framing():
    task, _ = make_task(LINEAR)
    for framing in ("train", "eval"):
        agent = SimpleNamespace(framing=framing)
        assert planner_prompt(task, "fine-tuning", agent) == f"<|user|>\n{LINEAR.description}\n<|assistant|>\n"


class Seeded:
    """An endpoint that notes the seeds that it is given."""

    def __init__(self):
        self.seeds = []

    async def generate(self, call):
        self.seeds.append((call.seed, call.constraint, call.candidates))
        return Completion("x", FinishReason.STOP)


@pytest.mark.parametrize(
    ("sampling", "seeded"),
    [(Sampling(), False), (Sampling(beams=4), False), (Sampling(epsilon=0.2), True), (Sampling(temperature=1.0), True)],
)
def test_only_what_is_drawn_gets_a_seed_and_constraint_and_number_are_handed_on(sampling, seeded):
    task, _ = make_task(LINEAR)
    constraint = PlanConstraint(read_signature(task.inputs))
    endpoint = Seeded()

    async def once():
        executor = Executor({"planner": endpoint}, None, sampling, 11)
        async with executor.for_episode(task, 3) as perform:
            await perform(Ask("planner", "p", constraint=constraint, n=2), SimpleNamespace(position=5, branch=0))

    asyncio.run(once())
    assert endpoint.seeds == [(derive_seed(11, task, 3, 5, 0) if seeded else 0, constraint, 2)]
