"""Write demonstrations, which precede a prompt: the conversations of an agent that solves other tasks.

In domains where an action ends the episode, the planner gets the original's demonstrations. These word results in
another way than the episode itself, and have an empty reply at the end (spec/lumos.md 1.9 and 1.10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from lumos_queue.domains.base import Demonstration, Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import STOP_PLANNING, read_actions, write_plan, write_subgoal
from lumos_queue.prompts.dialogue import Dialogue, Turn, get_framing, question_prompt
from lumos_queue.prompts.single_model import write_cot, write_integrated
from lumos_queue.records import Execution, Role, Subgoal, Task


@cache  # every episode of a job is shown the same
def show_steps(domain: str, framing: str, shots: int) -> Mapping[str, str]:
    """Return the demonstrations by role in which subgoals come one by one, for LUMOS-I and the integrated solver.

    Raises SpecError for an unknown domain or framing, and for more demonstrations than the domain has.
    """
    module, style = DOMAINS.load(domain), get_framing(framing)
    planner = grounder = solver = ""
    for demonstration in _take(module, shots):
        two_models, one_model = _two_models(demonstration, module), _one_model(demonstration, module)
        if module.ends_by_action:
            planner += "".join(map(style.write, _write_published_turns(demonstration, module))) + "\n\n"
        else:
            planner += "".join(map(style.write, two_models.planner_turns))
        grounder += "".join(map(style.write, two_models.grounder_turns))
        solver += "".join(map(style.write, one_model.solver_turns))
    return MappingProxyType({Role.PLANNER: planner, Role.GROUNDER: grounder, Role.SOLVER: solver})


@cache
def show_plans(domain: str, framing: str, shots: int) -> Mapping[str, str]:
    """Return the demonstrations of whole plans by role, for planner and grounder of LUMOS-O.

    Raises SpecError as `show_steps` does, and in domains whose subgoals depend on earlier results, such as a shop.
    """
    module = DOMAINS.load(domain)
    style, demonstrations = get_framing(framing), _take(module, shots)
    if demonstrations and module.ends_by_action:
        raise SpecError(f"Domain '{domain}' demonstrates one subgoal at a time: use --shots 0.")
    planner = grounder = ""
    for demonstration in demonstrations:
        dialogue = Dialogue(_task(demonstration), domain, framing)
        plan = write_plan(subgoal for subgoal, _, _ in _steps(demonstration))
        dialogue.add_plan(plan)
        dialogue.to_grounder_all(plan)
        dialogue.add_grounding("; ".join(line for _, line, _ in demonstration.steps))
        planner += "".join(map(style.write, dialogue.planner_turns))
        grounder += "".join(map(style.write, dialogue.grounder_turns))
    return MappingProxyType({Role.PLANNER: planner, Role.GROUNDER: grounder})


@cache
def show_answers(domain: str, framing: str, shots: int, reasoned: bool) -> str:
    """Return demonstrations for `direct` and `cot`: questions with answers. `reasoned`: reasons precede the answers.

    Raises SpecError as `show_steps` does, and if the domain's tasks have no answers.
    """
    style = get_framing(framing)
    return "".join(
        question_prompt(_task(demonstration), framing)
        + style.write(Turn("assistant", _reply(demonstration, domain, reasoned)))
        for demonstration in _take(DOMAINS.load(domain), shots)
    )


@cache
def list_answers(domain: str, shots: int, reasoned: bool) -> str:
    """Return the demonstrations of `show_answers` as plain text, `Question: …` and `Answer: …`. Raises as it does."""
    return "\n\n".join(
        f"Question: {demonstration.task.strip()}\nAnswer: {_reply(demonstration, domain, reasoned)}"
        for demonstration in _take(DOMAINS.load(domain), shots)
    )


def _reply(demonstration: Demonstration, domain: str, reasoned: bool) -> str:
    if not demonstration.answer:
        raise SpecError(f"The demonstrations of domain '{domain}' have no answers to show: use --shots 0.")
    return write_cot(domain, demonstration.rationale, demonstration.answer) if reasoned else demonstration.answer


def _take(domain: Domain, shots: int) -> Sequence[Demonstration]:
    limit = len(domain.demonstrations)
    if not 0 <= shots <= limit:
        raise SpecError(f"Domain '{domain.name}' has {limit} demonstrations, not {shots}: see --shots.")
    return domain.demonstrations[:shots]


def _task(demonstration: Demonstration) -> Task:
    return Task("", "", "", demonstration.task)


def _steps(demonstration: Demonstration) -> list[tuple[Subgoal, str, str]]:
    """Return each subgoal with the grounder's line and the result."""
    return [
        (Subgoal(number, text), line, result)
        for number, (text, line, result) in enumerate(demonstration.steps, start=1)
    ]


def _two_models(demonstration: Demonstration, domain: Domain) -> Dialogue:
    """Return the conversations of planner and grounder in a demonstration."""
    dialogue = Dialogue(_task(demonstration), domain.name)
    for subgoal, line, result in _steps(demonstration):
        dialogue.add_plan(write_subgoal(subgoal), subgoal)
        dialogue.observe(dialogue.add_grounding(line)[-1], Execution("ok", result))
    if not domain.ends_by_action:
        dialogue.add_plan(STOP_PLANNING)
    return dialogue


def _one_model(demonstration: Demonstration, domain: Domain) -> Dialogue:
    """Return the conversation of the integrated solver in a demonstration."""
    dialogue = Dialogue(_task(demonstration), domain.name)
    for subgoal, line, result in _steps(demonstration):
        actions = read_actions(line, domain.calls)
        dialogue.add_solution(write_integrated(subgoal, actions, domain.calls), subgoal, line)
        dialogue.observe(actions[-1], Execution("ok", result))
    if not domain.ends_by_action:
        dialogue.add_solution(STOP_PLANNING)
    return dialogue


def _write_published_turns(demonstration: Demonstration, domain: Domain) -> list[Turn]:
    """Return the planner's turns. The last has a result, so it ends with a reply's header, but no plan follows it."""
    dialogue = Dialogue(_task(demonstration), domain.name)
    dialogue.to_planner()
    turns = list(dialogue.planner_turns)
    for number, (subgoal, _, result) in enumerate(demonstration.steps, start=1):
        message = f"The execution result for Subgoal {number} is {result.strip().removesuffix('.')}."
        turns += [Turn("assistant", subgoal), Turn("user", message)]
    return turns
