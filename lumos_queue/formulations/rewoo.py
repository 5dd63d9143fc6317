"""ReWOO: plan all calls at once, carry out each when its inputs are available, and answer from the results.

The formulation makes two model calls. Independent function calls run concurrently. `#E1` in a later function call
refers to the result of the first (actions/tools/references.py). A function call that needs the result of a failed call
is refused, and the solver is sent this error.
"""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.endpoints.base import Sampling
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.plans import PlannedCall, read_plan
from lumos_queue.prompts.tool_agent import PLANNER, SOLVER, SYSTEM, first_prompt, list_functions, request
from lumos_queue.records import Action, Ending, Execution, Outcome, Role, Subgoal, Task
from lumos_queue.text_calls.decision_form import DecisionForm

WRITING = Sampling(max_tokens=1024, stop=())


def rewoo(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Ask the planner for a plan, run its calls, and ask the solver for the answer."""
    functions = list_functions(task, agent, version).without_finish()  # a plan ends by itself
    plan = yield from Ask(Role.PLANNER, first_prompt(PLANNER, request(task, functions), agent))
    calls = read_plan(plan.text, version)
    if not calls:
        return Outcome(None, Ending.UNREADABLE, "the plan has no call that can be read")
    for number, call in enumerate(calls, start=1):
        yield Note(Subgoal(number, f"Subgoal {number}: {call.purpose or call.name}"))
    executions: dict[str, Execution] = {}
    while pending_calls := [call for call in calls if call.variable not in executions]:
        ready = find_ready(pending_calls)
        results = yield [Do(Action((call.variable,), call.name, call.arguments, call.raw)) for call in ready]
        assert isinstance(results, list)
        for call, result in zip(ready, results, strict=True):
            assert isinstance(result, Execution)
            executions[call.variable] = result
    answer = yield from Ask(Role.SOLVER, first_prompt(SOLVER, format_evidence(task, calls, executions), agent))
    text = answer.text.strip()
    return Outcome(text, Ending.ANSWERED) if text else Outcome(None, Ending.NO_ANSWER, "the solver's reply is empty")


def find_ready(pending_calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Return the calls that do not need results of pending calls; if there are none, all, which will be refused."""
    names = {call.variable for call in pending_calls}
    return [call for call in pending_calls if not call.references & names] or list(pending_calls)


def format_evidence(task: Task, calls: Sequence[PlannedCall], executions: dict[str, Execution]) -> str:
    """Return the text for the solver: the request, and each call with its result."""
    evidence = "\n".join(
        f"Plan: {call.purpose}\n{call.variable} = {call.name} {call.arguments}\n"
        f"Returned: {executions[call.variable].result}"
        for call in calls
    )
    return f"Request: {task.question.strip()}\n\n{evidence}"


FORMULATION = Formulation(
    "rewoo",
    rewoo,
    (Role.PLANNER, Role.SOLVER),
    functions=True,
    versioned=True,
    answer_files=AnswerFiles(DecisionForm.PLAN, PLANNER, shows_finish=False),
    settings={DESCRIPTIONS: DESCRIBED},
    samplings={Role.PLANNER: WRITING, Role.SOLVER: WRITING},
    prefixes=lambda agent: {Role.PLANNER: SYSTEM + PLANNER, Role.SOLVER: SYSTEM + SOLVER},
)
