"""Describe a stored episode step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace

from db.journal.step_records import RecordedStep
from db.kinds.totals import NO_TOTALS
from db.queries.trajectory import Trajectory
from lumos_queue.commands import WITHIN, Approve, Call
from lumos_queue.formulations.base import version_of
from lumos_queue.notation import write_action
from lumos_queue.records import Action, Completion, Execution, Subgoal
from lumos_queue.reports.episode_values import (
    EarlierEnding,
    EpisodeLabel,
    EpisodeReport,
    EpisodeScore,
    EpisodeVerdict,
    Step,
    StepCandidate,
)
from lumos_queue.reports.tool_agents import calls_functions, write_call
from lumos_queue.reports.totals import measure_use


def describe_trajectory(trajectory: Trajectory) -> EpisodeReport:
    """Return an episode in the form of `lumos show --json`, without labels."""
    episode, task = trajectory.episode, trajectory.task
    steps_totals = NO_TOTALS  # of an unfinished episode, too, whose row has no totals yet
    for step in trajectory.steps:
        if isinstance(step.result, Completion):
            steps_totals = steps_totals.with_reply(step.result)
    functions = calls_functions(episode.formulation)
    return EpisodeReport(
        episode=f"{trajectory.job.id}-{trajectory.item.ordinal}",
        benchmark=task.benchmark,
        row=task.row,
        sample=episode.sample,
        formulation=episode.formulation,
        formulation_version=version_of(trajectory.job.spec),
        question=task.question,
        gold=gold_text(task.gold) or None,
        attempt=episode.attempt,
        ending=episode.ending,
        answer=episode.answer,
        message=episode.message,
        use=measure_use(steps_totals._replace(calls=episode.calls)),
        scores=[EpisodeScore(score.metric, score.value, score.version, score.detail) for score in trajectory.scores],
        origin=episode.origin,
        level=episode.level,
        parent=trajectory.parent,
        verdicts=[
            EpisodeVerdict(verdict.module, verdict.name, bool(verdict.rejects), verdict.detail)
            for verdict in trajectory.verdicts
        ],
        earlier_endings=[
            EarlierEnding(
                past.ending,
                past.message,
                past.answer,
                past.attempt,
                past.scores,
                past.verdicts,
                past.finished_at,
                past.replaced_at,
            )
            for past in trajectory.earlier
        ],
        steps=[_describe_step(step, functions) for step in trajectory.steps],
    )


def read_stored_scores(scores: Sequence[Mapping[str, object]]) -> list[EpisodeScore]:
    """Return the scores of an earlier ending from their stored JSON. Scores of other forms are left out."""
    return [
        EpisodeScore(str(score["metric"]), value, str(score.get("version", "")), str(score.get("detail", "")))
        for score in scores
        if isinstance(value := score.get("value"), int | float) and "metric" in score
    ]


def gold_text(gold: object) -> str:
    """Return the gold answer of a task as text; '' if none is known."""
    answer = gold.get("answer", gold.get("plan", gold)) if isinstance(gold, dict) else gold
    return "" if answer is None else str(answer)


def describe_labels(trajectory: Trajectory) -> list[EpisodeLabel]:
    """Return the labels of an episode, separately because labellers must not see each other's labels."""
    from db.queries.step_names import name_of_step

    return [
        EpisodeLabel(
            labeller=row.labeller,
            label=row.value,
            note=row.note,
            audit=row.audit,
            at=row.labelled_at,
            step=None if row.position is None else name_of_step(trajectory.steps, row.position, row.branch or 0),
            wrong_step=None
            if row.wrong_position is None
            else name_of_step(trajectory.steps, row.wrong_position, row.wrong_branch or 0),
            wrong_kind=row.wrong_kind,
        )
        for row in trajectory.labels
    ]


def _describe_step(step: RecordedStep, functions: bool) -> Step:
    """Describe a step; with `functions`, actions are functions of a task, written as name and arguments."""
    text = _describe_texts(step, functions)
    return replace(
        text,
        within=name_step(step.position, step.branch // WITHIN - 1) if step.branch >= WITHIN else None,
        parent=step.parent,
        provenance=step.result.provenance or None if isinstance(step.result, Execution) else None,
    )


def _describe_texts(step: RecordedStep, functions: bool) -> Step:
    """Describe a step without its relations to other steps."""
    at, prompt = name_step(step.position, step.branch), step.prompt
    match step.result, step.detail:
        case Completion() as reply, _:
            candidates = [StepCandidate(candidate.text, candidate.logprob) for candidate in reply.candidates]
            return Step(
                at=at,
                prompt=prompt,
                who=step.role,
                what=reply.text,
                result=f"{reply.prompt_tokens}+{reply.completion_tokens} tokens, {reply.finish_reason}",
                seconds=reply.seconds,
                note=reply.note or None,
                reasoning=reply.reasoning or None,
                reasoning_tokens=reply.reasoning_tokens or None,
                message=reply.message or None,
                candidates=candidates or None,
            )
        case Execution() as outcome, Action() as action:
            result = outcome.result if outcome.ok else f"{outcome.status}: {outcome.message}"
            is_call = functions and not action.variables
            text = write_call(action) if is_call else action.raw or write_action(action)
            return Step(at=at, prompt=prompt, who="tool", what=text, result=result, seconds=outcome.seconds)
        case Execution() as outcome, Call() as call:
            text = _describe_call(call) + ("" if outcome.ok else f" {outcome.status}")
            return Step(at=at, prompt=prompt, who="call", what=text, result=outcome.result, seconds=outcome.seconds)
        case (Execution() | None) as answer, Approve() as plan:
            return Step(at=at, prompt=prompt, who="approval", what=plan.shown, result=describe_approval(answer))
        case _, Subgoal() as subgoal:
            return Step(at=at, prompt=prompt, who="subgoal", what=subgoal.text)
    raise TypeError("a step is a completion, an action, a call, a plan or a subgoal")


def describe_approval(answer: Execution | None) -> str:
    """Describe the answer of a person to a plan."""
    if answer is None:
        return "not answered"
    note = f": {answer.result}" if answer.result else ""
    return f"{'approved' if answer.ok else 'refused'} by {answer.values[0]['text']}{note}"


def _describe_call(call: Call) -> str:
    """Describe a call on one line; an expert's call, whose inputs are long, has the number of samples instead."""
    arguments = call.arguments
    inputs = arguments.get("inputs")
    if call.tool == "expert" and isinstance(inputs, list) and inputs and isinstance(values := inputs[0], Sized):
        samples = f"{len(values)} samples" if len(values) != 1 else "1 sample"
        return f"{call.tool}({arguments.get('expert')}, backend {str(arguments.get('digest'))[:12]}…, {samples})"
    return f"{call.tool}({', '.join(f'{name}={value}' for name, value in arguments.items())})"


def name_step(position: int, branch: int) -> str:
    """Return the name of a step: `3`, or `3.1` if several steps ran in parallel."""
    return f"{position}.{branch}" if branch else str(position)
