"""Prompts for a planner of expert models, in each of OpenAGI's schemas (arXiv:2304.04370). The wording is ours.

    zero-shot    the objective alone
    prompt-1     the role of a planner, the objective and the names of the models
    prompt-2     the same, and what each model is for and takes
    few-shot     solved problems of the labelled split, then the problem
    fine-tuning  the objective alone, as a model is trained on it: the user's turn of a training conversation

The schemas whose names end in -paper or -released are in published_planner.py. The text of a template (`--prompt`) is
the whole prompt, whatever the schema is.

Prompts 1 and 2 list the 14 models that tasks need. As in the paper, Text Generation is not among them.
"""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import USER, Turn, get_framing, question_prompt
from lumos_queue.prompts.model_synthesis_demonstrations import DEMONSTRATIONS, Solved
from lumos_queue.prompts.published_planner import AROUND_OBJECTIVE
from lumos_queue.prompts.solver_prompt import QUESTION
from lumos_queue.prompts.tool_agent import SYSTEM, first_prompt
from lumos_queue.records import Role, Task

LISTED = tuple(name for name in PLANNABLE if name != "Text Generation")
_STEPS = """\
Write each step on a line of its own that begins with "Step" and its number, as in "Step 1: …". Write nothing else.
"""
_PLANNER = f"""\
You plan the work of a robot. Write the shortest to-do list that reaches the objective. Every step must be relevant \
and necessary, and uses one model of the list, by its name, and nothing else. Where the objective has several inputs, \
first list the steps for each of them, then the step that uses them together.
{_STEPS}"""
_ZERO_SHOT = f"""\
Solve the problem by steps that artificial intelligence models can do, one model a step.
{_STEPS}"""
_FEW_SHOT = """\
Solve the last problem in the way of the others. Write its solution only, a model on each line.
"""


def _list_names() -> str:
    return "".join(f"- {name}\n" for name in LISTED)


def _list_descriptions() -> str:
    return "".join(f"- {name}: {EXPERTS[name].description}\n" for name in LISTED)


def _write(demonstration: Solved) -> str:
    lines = "".join(f"Step {number}: {name},\n" for number, name in enumerate(demonstration.steps, start=1))
    return f"\nProblem: {demonstration.problem}\nSolution:\n{lines}"


FINE_TUNING = "fine-tuning"
HEADS: Mapping[str, str] = {  #: schema to the system message of its prompts
    "zero-shot": _ZERO_SHOT,
    "prompt-1": f"{_PLANNER}The models:\n{_list_names()}",
    "prompt-2": f"{_PLANNER}The models:\n{_list_descriptions()}",
    "few-shot": _FEW_SHOT + "".join(map(_write, DEMONSTRATIONS)),
    FINE_TUNING: "",
}
_ASKED = {
    "zero-shot": "Problem: {}",
    "prompt-1": "Objective: {}",
    "prompt-2": "Objective: {}",
    "few-shot": "Problem: {}\nSolution:",
}
SCHEMAS = (*HEADS, *AROUND_OBJECTIVE)


def planner_prompt(task: Task, schema: str, agent: Agent) -> str:
    """Return the prompt for a task in a schema (one of SCHEMAS). Marks of roles in the task's text are broken.

    The prompt of the schema `fine-tuning` has the framing of training, whatever the agent's framing is.
    """
    if schema == FINE_TUNING:
        return question_prompt(task)
    if schema in AROUND_OBJECTIVE:
        before, after = AROUND_OBJECTIVE[schema]
        return get_framing(agent.framing).write(Turn("user", f"{before}{without_roles(task.question.strip())}{after}"))
    return first_prompt(HEADS[schema], _ASKED[schema].format(task.question.strip()), agent)


def planner_prefixes(schema: str) -> dict[str, str]:
    """Return by role the text with which all prompts of a schema begin."""
    if schema in AROUND_OBJECTIVE:
        return {Role.PLANNER: USER + AROUND_OBJECTIVE[schema][0]}
    return {Role.PLANNER: USER if schema == FINE_TUNING else SYSTEM + HEADS[schema]}


def fill_planner_template(template: str, task: Task) -> str:
    """Return the whole prompt for a task from a person's template. Marks of roles in the task's text are broken."""
    return template.replace(QUESTION, without_roles(task.question.strip()))


def template_prefixes(template: str) -> dict[str, str]:
    """Return by role the text with which all prompts of a template begin."""
    return {Role.PLANNER: template.partition(QUESTION)[0]}
