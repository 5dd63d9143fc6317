"""A stored episode as JSON, step by step."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from db.kinds.totals import NO_TOTALS
from lumos_queue.commands import WITHIN, Approve, Call
from lumos_queue.formulations.base import version_of
from lumos_queue.notation import write_action
from lumos_queue.records import Action, Completion, Execution, Subgoal
from lumos_queue.reports.tool_agents import calls_functions, write_call
from lumos_queue.reports.totals import totals_as_json

#: Fields of a Completion that a step has only where they are not empty.
RARE = ("note", "reasoning", "reasoning_tokens", "message")


def trajectory_as_json(trajectory: Any) -> dict[str, Any]:
    """Return a db.queries.trajectory.Trajectory in the form of `lumos show --json`, without labels."""
    episode, task = trajectory.episode, trajectory.task
    steps_totals = NO_TOTALS  # of an unfinished episode, too, whose row has no totals yet
    for step in trajectory.steps:
        if isinstance(step.result, Completion):
            steps_totals = steps_totals.with_reply(step.result)
    return {
        "episode": f"{trajectory.job.id}-{trajectory.item.ordinal}",
        "benchmark": task.benchmark,
        "row": task.row,
        "sample": episode.sample,
        "formulation": episode.formulation,
        "formulation_version": version_of(trajectory.job.spec),
        "question": task.question,
        "gold": gold_text(task.gold) or None,
        "attempt": episode.attempt,
        "ending": episode.ending,
        "answer": episode.answer,
        "message": episode.message,
        **totals_as_json(steps_totals._replace(calls=episode.calls)),
        "scores": [
            {"metric": score.metric, "value": score.value, "version": score.version, "detail": score.detail}
            for score in trajectory.scores
        ],
        "origin": episode.origin,
        "level": episode.level,
        "parent": trajectory.parent,
        "verdicts": [
            {"module": verdict.module, "name": verdict.name, "rejects": bool(verdict.rejects), "detail": verdict.detail}
            for verdict in trajectory.verdicts
        ],
        "earlier_endings": [
            {
                name: getattr(past, name)
                for name in (
                    "ending",
                    "message",
                    "answer",
                    "attempt",
                    "scores",
                    "verdicts",
                    "finished_at",
                    "replaced_at",
                )
            }
            for past in trajectory.earlier
        ],
        "steps": [_step_as_json(step, calls_functions(episode.formulation)) for step in trajectory.steps],
    }


def gold_text(gold: Any) -> str:
    """Return the gold answer of a task as text; '' if none is known."""
    answer = gold.get("answer", gold.get("plan", gold)) if isinstance(gold, dict) else gold
    return "" if answer is None else str(answer)


def labels_as_json(trajectory: Any) -> list[dict[str, Any]]:
    """Return the labels of a Trajectory, separately because labellers must not see each other's labels."""
    from db.queries.step_names import name_of_step

    return [
        {
            "labeller": row.labeller,
            "label": row.value,
            "note": row.note,
            "audit": row.audit,
            "at": row.labelled_at,
            "step": None if row.position is None else name_of_step(trajectory.steps, row.position, row.branch),
            "wrong_step": None
            if row.wrong_position is None
            else name_of_step(trajectory.steps, row.wrong_position, row.wrong_branch),
            "wrong_kind": row.wrong_kind,
        }
        for row in trajectory.labels
    ]


def _step_as_json(step: Any, functions: bool) -> dict[str, Any]:
    """Return a step as JSON; with `functions`, actions are functions of a task, written as name and arguments."""
    fields = {"at": name_step(step.position, step.branch), "prompt": step.prompt, "seconds": 0.0, "result": ""}
    if step.branch >= WITHIN:
        fields["within"] = name_step(step.position, step.branch // WITHIN - 1)
    if step.parent is not None:
        fields["parent"] = step.parent
    if isinstance(step.result, Execution) and step.result.provenance:
        fields["provenance"] = step.result.provenance
    match step.result, step.detail:
        case Completion() as outcome, _:
            tokens = f"{outcome.prompt_tokens}+{outcome.completion_tokens} tokens, {outcome.finish_reason}"
            rare = {name: value for name in RARE if (value := getattr(outcome, name))}
            if outcome.candidates:
                rare["candidates"] = [
                    {"text": candidate.text, "logprob": candidate.logprob} for candidate in outcome.candidates
                ]
            return (
                fields | {"who": step.role, "what": outcome.text, "result": tokens, "seconds": outcome.seconds} | rare
            )
        case outcome, Action() as action:
            text = outcome.result if outcome.ok else f"{outcome.status}: {outcome.message}"
            is_call = functions and not action.variables
            return fields | {
                "who": "tool",
                "what": write_call(action) if is_call else action.raw or write_action(action),
                "result": text,
                "seconds": outcome.seconds,
            }
        case outcome, Call() as call:
            description = _describe_call(call) + ("" if outcome.ok else f" {outcome.status}")
            return fields | {"who": "call", "what": description, "result": outcome.result, "seconds": outcome.seconds}
        case outcome, Approve() as plan:
            return fields | {"who": "approval", "what": plan.shown, "result": describe_approval(outcome)}
        case _, Subgoal() as subgoal:
            return fields | {"who": "subgoal", "what": subgoal.text}
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
