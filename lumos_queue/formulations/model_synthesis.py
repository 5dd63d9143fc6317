"""Model synthesis: a planner composes expert models into a plan, which runs as a graph (OpenAGI, arXiv:2304.04370).

The planner is called once, or once for each input of the task if the inputs are searched apart. A model may be asked
which expert each step of the reply names (plan_reading.py). Independent experts run
concurrently. If a plan cannot run, no part of it runs, and the episode ends as `infeasible`. If an expert fails for a
sample, only the value of that sample is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumos_queue.commands import Commands, Do, Note
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.experts.duplicates import DUPLICATES
from lumos_queue.experts.encoder import read_parser
from lumos_queue.experts.graph import read_signature, ready_sets
from lumos_queue.experts.parsing import ParsedPlan
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import Plan, Signature
from lumos_queue.experts.released_feasibility import RELEASED, TYPES
from lumos_queue.experts.runs import write_node
from lumos_queue.formulations.base import Formulation, Setting
from lumos_queue.formulations.plan_reading import UNRESOLVED, name_parser, parser_prefixes, read_plan
from lumos_queue.formulations.plan_request import ask_plan
from lumos_queue.formulations.plan_rules import BENCHMARK, RULES, TASKS, UNFIT, judge_plan, number_of
from lumos_queue.formulations.settings import read_choice, read_number
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import write_expert_plan
from lumos_queue.prompts.model_synthesis import (
    FINE_TUNING,
    SCHEMAS,
    fill_planner_template,
    planner_prefixes,
    planner_prompt,
    template_prefixes,
)
from lumos_queue.records import Ending, Execution, Outcome, Role, Subgoal, Task

WRITING = Sampling(max_tokens=512, stop=())
FREE, CONSTRAINED = "free", "constrained"  #: values of `decoding`
AWARE, APART, TOGETHER = "aware", "apart", "together"  #: of `goal` (or FREE), and of `search`
MAX_CANDIDATES = 1000
MAX_NOTES = 64  #: steps of a reply that are noted down
_STUCK = "accepted by feasibility={}, but it cannot run: {}"
_NOT_OF_OPENAGI = (
    f"feasibility={RELEASED} is for the {TASKS} tasks of {BENCHMARK}, not for row '{{:.40}}' of '{{:.40}}'"
)


def model_synthesis(task: Task, agent: Agent) -> Commands[Outcome]:
    """Ask the planner for a plan, note each step of the plan, and run its experts, level by level."""
    settings = FORMULATION.read_settings(agent)
    try:
        signature = read_signature(task.inputs)
    except ValueError as error:
        return Outcome(None, Ending.INFEASIBLE, str(error))
    number, rule = number_of(task.benchmark, task.row), settings["feasibility"]
    if rule == RELEASED and number is None:
        return Outcome(None, Ending.INFEASIBLE, _NOT_OF_OPENAGI.format(task.row, task.benchmark))
    constraint = None
    if settings["decoding"] == CONSTRAINED:
        constraint = PlanConstraint(signature, goal_aware=settings["goal"] == AWARE)
        try:
            constraint.check()
        except SpecError as error:
            return Outcome(None, Ending.INFEASIBLE, str(error))
    prompt = _write_prompt(task, agent, settings["schema"])
    written_plan = yield from ask_plan(prompt, constraint, settings["search"] == APART, settings["candidates"])
    parsed_plan = yield from read_plan(written_plan.text, signature, settings["parser"], agent)
    pairs = settings["schema"] != FINE_TUNING
    judgement = judge_plan(parsed_plan.plan, signature, settings["duplicates"], rule, number, pairs)
    steps = [*_steps_of(parsed_plan)[:MAX_NOTES], *([UNFIT + judgement.misfit] if judgement.misfit else [])]
    for position, step in enumerate(steps, start=1):
        yield Note(Subgoal(position, f"Subgoal {position}: {step}"))
    if problem := judgement.refusal or written_plan.problem:
        return Outcome(None, Ending.INFEASIBLE, problem)
    if judgement.obstacle:
        return Outcome(None, Ending.ACTION_ERROR, _STUCK.format(rule, judgement.obstacle))
    return (yield from run_plan(judgement.plan, signature))


def run_plan(plan: Plan, signature: Signature) -> Commands[Outcome]:
    """Run the experts of a feasible plan. The answer is the output of the last expert as text."""
    last = Execution("ok")
    for ready in ready_sets(plan, signature):
        executions = yield [Do(write_node(node)) for node in ready]
        assert isinstance(executions, list) and isinstance(executions[-1], Execution)
        last = executions[-1]
    if not last.ok:
        return Outcome(None, Ending.ACTION_ERROR, f"{last.status}: {last.message}")
    return Outcome(last.result, Ending.ANSWERED)


def _steps_of(parsed_plan: ParsedPlan) -> Sequence[str]:
    """Return the names of the experts in the order of the text, then the unknown names and the issues of the plan."""
    return (*parsed_plan.plan.names, *(f"{UNRESOLVED}{name}" for name in parsed_plan.unresolved), *parsed_plan.issues)


def _write_prompt(task: Task, agent: Agent, schema: str) -> str:
    return fill_planner_template(agent.prompt, task) if agent.prompt else planner_prompt(task, schema, agent)


def _prefixes(agent: Agent) -> dict[str, str]:
    settings: dict[str, Any] = FORMULATION.read_settings(agent)
    prefixes = template_prefixes(agent.prompt) if agent.prompt else planner_prefixes(settings["schema"])
    return prefixes | parser_prefixes(settings["parser"])


FORMULATION = Formulation(
    "model-synthesis",
    model_synthesis,
    (Role.PLANNER,),
    experts=True,
    templated=True,
    write_gold=write_expert_plan,
    taught_with={"schema": FINE_TUNING},
    expected_calls=lambda subgoals, limit: 1,
    settings={
        "schema": Setting("prompt-2", f"schema of the planner's prompt: {', '.join(SCHEMAS)}", read_choice(*SCHEMAS)),
        "parser": Setting(
            "names",
            "how the steps of a reply become experts: by their 'names', or 'encoder:FOLDER', the nearest name by the "
            "cosine of a sentence encoder; 'encoder:FOLDER@0.5' sets the least cosine, and @-1 none; or 'model:URL', a "
            "model that is asked for the name in each step",
            read_parser,
        ),
        "duplicates": Setting(
            "keep",
            "what becomes of an expert that a branch names twice: "
            + "; ".join(f"{name}: {meaning}" for name, meaning in DUPLICATES.items()),
            read_choice(*DUPLICATES),
        ),
        "feasibility": Setting(
            TYPES,
            "which plans are run, and do not score 0: "
            + "; ".join(f"{name}: {meaning}" for name, meaning in RULES.items()),
            read_choice(*RULES),
        ),
        "decoding": Setting(
            FREE,
            "what the planner may write: 'free', or 'constrained': only plans that fit the task's types, in wire form",
            read_choice(FREE, CONSTRAINED),
        ),
        "goal": Setting(
            AWARE,
            "of constrained decoding: 'aware', plans end in what the task asks for; 'free', in anything",
            read_choice(AWARE, FREE),
        ),
        "search": Setting(
            TOGETHER,
            "of constrained decoding, for tasks of several inputs: 'together', one search for the whole plan; 'apart', "
            "one for each input",
            read_choice(TOGETHER, APART),
        ),
        "candidates": Setting(
            "1",
            "how many plans a search lists, with their log-probabilities; of a local: model",
            read_number(1, MAX_CANDIDATES),
        ),
    },
    setting_roles=name_parser,
    samplings={Role.PLANNER: WRITING},
    prefixes=_prefixes,
)
