"""Formulations that are one another under the same replies and tools: compared by the records of their episodes."""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import replace

import pytest

from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.commands import Ask, Do, Note
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Ending, Execution, FinishReason, Task
from tests.tool_apis import entry, parameter

# --- ReWOO's chain and LUMOS-O's list, by the real actions of maths


def renamed(text: str) -> str:
    """ReWOO's name of a variable as LUMOS writes it."""
    return re.sub(r"#E(\d+)", r"R\1", text)


class Recorded:
    """One episode of maths: what was done, in order, with the variables before it."""

    def __init__(self, formulation: str, replies: dict[str, str]):
        self.actions: list[tuple] = []  #: variables, name and arguments of each action, and what came of it
        self.before: list[dict] = []  #: the variables that each action saw
        self.notes = 0
        maths = MathsActions()

        async def perform(command, context):
            if isinstance(command, Ask):
                return Completion(replies[command.role], FinishReason.STOP)
            if isinstance(command, Note):
                self.notes += 1
                return None
            assert isinstance(command, Do)
            names = tuple(map(renamed, command.action.variables))
            action = replace(command.action, variables=names, arguments=renamed(command.action.arguments), raw="")
            known = {renamed(name): value for name, value in context.variables.items()}
            done = replace(await maths.execute(action, known), seconds=0.0)
            self.actions.append((names, action.name, action.arguments, done))
            self.before.append(known)
            return done

        agent = Agent({}, "maths")
        self.run = asyncio.run(
            run_episode(FORMULATIONS.load(formulation), Task("b", "", "1", "?"), agent, MemoryJournal(), perform)
        )

    @property
    def variables(self) -> dict[str, dict]:
        """After the last action."""
        done = [(names, result) for names, _, _, result in self.actions if result.ok]
        return {name: value for names, result in done for name, value in zip(names, result.values, strict=False)}


def chain(rng: random.Random) -> list[str]:
    """Formulas, each of which but the first uses the one before it, and some an earlier one, too."""
    found = [f"{rng.randint(1, 99)} + {rng.randint(1, 99)}"]
    for number in range(2, rng.randint(2, 9)):
        other = rng.choice([f"R{rng.randint(1, number - 1)}", str(rng.randint(1, 9))])
        found.append(f"R{number - 1} {rng.choice('+-*')} {other}")
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_chain_of_rewoo_is_a_list_of_lumos_with_one_action_for_each_subgoal(seed):
    formulas = chain(random.Random(seed))
    steps = list(enumerate(formulas, start=1))
    plan = "\n".join(f"Plan: step {n}\n#E{n} = Calculator({re.sub('R', '#E', one)})" for n, one in steps)
    rewoo = Recorded("rewoo", {"planner": plan, "solver": "done"})
    lumos = Recorded(
        "one-pass",
        {
            "planner": "; ".join(f"Subgoal {n}: step {n}" for n, _ in steps),
            "grounder": "; ".join(f"R{n} = Calculator({one})" for n, one in steps),
        },
    )
    assert all(result.ok for *_, result in lumos.actions) and len(lumos.actions) == len(formulas)
    assert rewoo.actions == lumos.actions
    assert rewoo.before == lumos.before
    assert rewoo.variables == lumos.variables and rewoo.notes == lumos.notes == len(formulas)


def test_they_differ_where_an_action_fails():
    """LUMOS-O ends there, ReWOO carries out what else there is: the two are one for actions that succeed."""
    plan = "#E1 = Calculator(1 / 0)\n#E2 = Calculator(2 + 2)"
    rewoo = Recorded("rewoo", {"planner": plan, "solver": "done"})
    lumos = Recorded(
        "one-pass", {"planner": "Subgoal 1: a", "grounder": "R1 = Calculator(1 / 0); R2 = Calculator(2 + 2)"}
    )
    assert rewoo.actions[:1] == lumos.actions and len(rewoo.actions) == 2


# --- Sum2Act with everything in its state, and ReAct, by the real actions of tool agents

ORDER = entry("Order", [parameter("number", "NUMBER")])
STOCK = entry("Stock", [parameter("number", "NUMBER")])
ORDER_NAME, STOCK_NAME = "order_for_swift_post", "stock_for_swift_post"


class Model:
    """A model that decides by what it has been told, wherever in its prompt that is: the same facts, the same reply."""

    url, admission = "scripted:", None

    def __init__(self, seed: int):
        self._seed = seed

    async def generate(self, call):
        return Completion(self._reply(call.prompt), FinishReason.STOP)

    def _reply(self, prompt: str) -> str:
        told = sorted(set(re.findall(r"number (\d+) comes before number (\d+)", prompt)))
        failed = sorted(re.findall(r"no such thing as \w+|there is no function '\w+'|nothing here", prompt))
        draw = random.Random(f"{self._seed} {told} {failed}")
        known = dict(told)
        place = "1"
        while place in known:
            place = known[place]
        if place == "7":
            return 'Action: Finish\nAction Input: {"return_type": "give_answer", "final_answer": "7"}'
        name = draw.choice([ORDER_NAME, ORDER_NAME, STOCK_NAME, f"made_up_{draw.randint(0, 9)}"])
        return f'Thought: what comes after {place}\nAction: {name}\nAction Input: {{"number": {place}}}'


class PassThrough(Model):
    """A state manager that keeps what was returned as it is."""

    def _reply(self, prompt: str) -> str:
        returned = prompt.rpartition("\nReturned: ")[2].removesuffix("\n<|assistant|>\n").rstrip()
        return json.dumps({"status": "success", "aim": "", "answer": returned.removesuffix("</s>")})


def answers() -> list[dict]:
    """What the two functions say: the one fails at odd numbers, the other at some."""
    found = []
    for number in range(1, 7):
        names = {"category": "Parcels, Mail", "tool": "Swift Post", "arguments": {"number": number}}
        error = f"no such thing as order{number}" if number % 2 else ""
        fact = f"number {number} comes before number {number + 1}"
        found.append(names | {"api": "Order", "error": error, "response": "" if error else fact})
        found.append(names | {"api": "Stock", "error": "", "response": fact if number != 4 else ["nothing here"]})
    return found


def episode(formulation: str, seed: int, steps: int, **settings: str) -> EpisodeRun:
    limits, one = Limits(steps=steps), FORMULATIONS.load(formulation)
    task = Task("toolbench", "d", "1", "What comes last?", {"functions": [ORDER, STOCK], "answers": answers()})
    agent = Agent({}, "tools", limits=limits, settings=settings)
    endpoints = {"policy": Model(seed), "router": Model(seed), "state_manager": PassThrough(seed)}

    async def go() -> EpisodeRun:
        executor = Executor(endpoints, ToolActions(), Sampling(), 0, samplings=one.samplings)  # type: ignore[arg-type]
        async with executor.for_episode(task, 0) as perform:
            return await run_episode(limit_formulation(one, limits), task, agent, MemoryJournal(), perform)

    return asyncio.run(go())


def done(run: EpisodeRun) -> list[tuple[str, str, Execution]]:
    return [(action.name, action.arguments, replace(result, seconds=0.0)) for action, result in run.actions]


WHOLE = {"repeat_guard": "no", "state": "1000000", "observation": "1000000"}


@pytest.mark.parametrize("steps", [5, 60])
@pytest.mark.parametrize("seed", range(12))
def test_sum2act_with_the_whole_transcript_as_its_state_acts_as_react_does(seed, steps):
    react, sum2act = episode("react", seed, steps), episode("sum2act", seed, steps, **WHOLE)
    assert done(react) == done(sum2act) and len(done(react)) >= 5
    assert (react.outcome.answer, react.outcome.ending) == (sum2act.outcome.answer, sum2act.outcome.ending)


def test_the_episodes_that_were_compared_are_of_all_kinds():
    runs = [episode("react", seed, steps) for seed in range(12) for steps in (5, 60)]
    statuses = {result.status for run in runs for _, _, result in done(run)}
    assert statuses == {"ok", "tool_error", "unknown_action"}
    assert {run.outcome.ending for run in runs} == {Ending.ANSWERED, Ending.LIMIT}
    assert len({len(run.actions) for run in runs}) > 3
