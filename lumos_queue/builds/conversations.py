"""Make the conversations of an episode, one for each module and formulation. The source task is their key."""

from __future__ import annotations

from dataclasses import replace

from lumos_queue.builds.candidates import BuildCandidate
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.execution.prefill import source_row
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import Conversation, gold_conversations
from lumos_queue.records import MODULES, Task

_FACTS_END = "We need to answer these questions:"  #: where the questions of a QA rationale begin, after its facts


def join_key(task: Task) -> str:
    """Return `BENCHMARK/ROW` of the source task. Planner and grounder rows of a task have the same key."""
    return f"{task.benchmark}/{source_row(task)}"


def conversations_of(candidate: BuildCandidate, name: str, sources: KnownBenchmarks) -> dict[str, Conversation]:
    """Return the candidate's conversations in the formulation `name`, by file (`planner_iterative`, `solver_cot`, …).

    A module that a verdict rejects has no conversation. A solver that writes subgoals and actions has none if either
    module is rejected. Raises SpecError with the reason if the episode cannot be written in this formulation.
    """
    task, annotation = candidate.episode.task, candidate.annotation
    formulation = FORMULATIONS.load(name)
    if candidate.one_pass_only and formulation.executes and not formulation.whole_plans:
        raise SpecError(candidate.one_pass_only)
    if candidate.reply and candidate.episode.formulation != name:
        raise SpecError("one model answered alone, without subgoals and actions")
    rationale = _rationale(candidate, sources) if formulation.reasons and not candidate.reply else ""
    domain = DOMAINS.load(candidate.domain)
    if formulation.experts != domain.experts:
        raise SpecError(f"its actions are {'' if domain.experts else 'not '}runs of expert models")
    if not formulation.executes and not candidate.reply:  # its text is made of the task's gold answer alone
        annotation = replace(annotation, answer=_gold_answer(candidate))
    try:
        agent = Agent(roles={}, domain=domain.name, settings=formulation.taught_with)
        replies = {formulation.roles[0]: [candidate.reply]} if candidate.reply else None
        conversations = gold_conversations(task, annotation, formulation, agent, rationale, replies)
    except SpecError:
        raise SpecError("not the same when written and read again") from None
    roles = {
        conversation.dataset.rpartition("/")[2]: replace(conversation, id=join_key(task))
        for conversation in conversations
    }
    return {
        f"{role}_{name}": conversation
        for role, conversation in roles.items()
        if _can_teach(candidate, role, formulation)
    }


def _can_teach(candidate: BuildCandidate, role: str, formulation: Formulation) -> bool:
    alone = role not in MODULES and (not formulation.executes or candidate.modules == MODULES)
    return alone or role in candidate.modules


def _rationale(candidate: BuildCandidate, sources: KnownBenchmarks) -> str:
    """Return the gold rationale as text; for QA, only the facts in it, as in LUMOS's CoT data."""
    task = candidate.episode.task
    source = sources.to_teach(candidate.episode)
    try:
        plan = source.rationale(task) if source else ""
    except SpecError:
        plan = ""
    if not plan.strip():
        raise SpecError("the source has no rationale in words")
    cut = DOMAINS.load(candidate.domain).cot_cut
    return plan.partition(cut)[0].strip() if cut else plan


def _gold_answer(candidate: BuildCandidate) -> str:
    """Return the task's gold `answer`; for a task without it, the answer of the episode, which is right."""
    gold = candidate.episode.task.gold
    answer = gold.get("answer") if isinstance(gold, dict) else None
    return str(candidate.annotation.answer if answer is None else answer)
