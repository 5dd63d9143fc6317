"""Solved tasks in front of a prompt: the conversations of an agent for which everything went as demonstrated.

Where an action ends the episode, the planner is shown what the original showed it: other words for results than in the
episode itself, and an empty reply at the end (spec/lumos.md 1.9 and 1.10).
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
from lumos_queue.records import Execution, Subgoal, Task


@cache  # every episode of a job is shown the same
def show_steps(domain: str, framing: str, shots: int) -> Mapping[str, str]:
    """By role, one subgoal at a time: what planner and grounder of LUMOS-I are shown, and the integrated solver.

    Raises SpecError for an unknown domain or framing, and for more demonstrations than the domain has.
    """
    chosen, style = DOMAINS.load(domain), get_framing(framing)
    planner = grounder = solver = ""
    for one in _take(chosen, shots):
        two_models, one_model = _two_models(one, chosen), _one_model(one, chosen)
        if chosen.ends_by_action:
            planner += "".join(map(style.write, _published_turns(one, chosen))) + "\n\n"
        else:
            planner += "".join(map(style.write, two_models.planner_turns))
        grounder += "".join(map(style.write, two_models.grounder_turns))
        solver += "".join(map(style.write, one_model.solver_turns))
    return MappingProxyType({"planner": planner, "grounder": grounder, "solver": solver})


@cache
def show_plans(domain: str, framing: str, shots: int) -> Mapping[str, str]:
    """By role, whole plans: what planner and grounder of LUMOS-O are shown.

    Raises SpecError as `show_steps`, and where each subgoal needs the results before it, as in a shop.
    """
    chosen = DOMAINS.load(domain)
    style, shown = get_framing(framing), _take(chosen, shots)
    if shown and chosen.ends_by_action:
        raise SpecError(f"Domain '{domain}' demonstrates one subgoal at a time: use --shots 0.")
    planner = grounder = ""
    for one in shown:
        dialogue = Dialogue(_task(one), domain, framing)
        plan = write_plan(subgoal for subgoal, _, _ in _steps(one))
        dialogue.add_plan(plan)
        dialogue.to_grounder_all(plan)
        dialogue.add_grounding("; ".join(line for _, line, _ in one.steps))
        planner += "".join(map(style.write, dialogue.planner_turns))
        grounder += "".join(map(style.write, dialogue.grounder_turns))
    return MappingProxyType({"planner": planner, "grounder": grounder})


@cache
def show_answers(domain: str, framing: str, shots: int, reasoned: bool) -> str:
    """Questions with their answers, and with the reasons before them where `reasoned`: what direct and cot are shown.

    Raises SpecError as `show_steps`, and where the domain's tasks are done and not answered.
    """
    style = get_framing(framing)
    return "".join(
        question_prompt(_task(shown), framing) + style.write(Turn("assistant", _reply(shown, domain, reasoned)))
        for shown in _take(DOMAINS.load(domain), shots)
    )


@cache
def list_answers(domain: str, shots: int, reasoned: bool) -> str:
    """The same as plain text, `Question: …` and `Answer: …`, with a line between two. Raises as `show_answers`."""
    return "\n\n".join(
        f"Question: {shown.task.strip()}\nAnswer: {_reply(shown, domain, reasoned)}"
        for shown in _take(DOMAINS.load(domain), shots)
    )


def _reply(shown: Demonstration, domain: str, reasoned: bool) -> str:
    if not shown.answer:
        raise SpecError(f"The demonstrations of domain '{domain}' have no answers to show: use --shots 0.")
    return write_cot(domain, shown.rationale, shown.answer) if reasoned else shown.answer


def _take(domain: Domain, shots: int) -> Sequence[Demonstration]:
    most = len(domain.demonstrations)
    if not 0 <= shots <= most:
        raise SpecError(f"Domain '{domain.name}' has {most} demonstrations, not {shots}: see --shots.")
    return domain.demonstrations[:shots]


def _task(shown: Demonstration) -> Task:
    return Task("", "", "", shown.task)


def _steps(shown: Demonstration) -> list[tuple[Subgoal, str, str]]:
    """Each subgoal with the grounder's line and the result."""
    return [(Subgoal(number, text), line, result) for number, (text, line, result) in enumerate(shown.steps, start=1)]


def _two_models(shown: Demonstration, domain: Domain) -> Dialogue:
    """The conversations of planner and grounder."""
    dialogue = Dialogue(_task(shown), domain.name)
    for subgoal, line, result in _steps(shown):
        dialogue.add_plan(write_subgoal(subgoal), subgoal)
        dialogue.observe(dialogue.add_grounding(line)[-1], Execution("ok", result))
    if not domain.ends_by_action:
        dialogue.add_plan(STOP_PLANNING)
    return dialogue


def _one_model(shown: Demonstration, domain: Domain) -> Dialogue:
    """The conversation of the integrated solver."""
    dialogue = Dialogue(_task(shown), domain.name)
    for subgoal, line, result in _steps(shown):
        actions = read_actions(line, domain.calls)
        dialogue.add_solution(write_integrated(subgoal, actions, domain.calls), subgoal, line)
        dialogue.observe(actions[-1], Execution("ok", result))
    if not domain.ends_by_action:
        dialogue.add_solution(STOP_PLANNING)
    return dialogue


def _published_turns(shown: Demonstration, domain: Domain) -> list[Turn]:
    """Ends with a result and so with the header of a reply: after the last one there is nothing to be planned."""
    dialogue = Dialogue(_task(shown), domain.name)
    dialogue.to_planner()
    turns = list(dialogue.planner_turns)
    for number, (subgoal, _, result) in enumerate(shown.steps, start=1):
        told = f"The execution result for Subgoal {number} is {result.strip().removesuffix('.')}."
        turns += [Turn("assistant", subgoal), Turn("user", told)]
    return turns
