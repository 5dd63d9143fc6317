"""Compare the judgements of a state manager with the statuses of the judged calls, and count router steps.

The figures are counted from the stored steps. Such an agent does one step at a time, so the purpose of a reply follows
from the step before it. A call succeeded if the environment gave it the status `ok`. If the state manager records such
a call as a failure, it is not always wrong: the result may have been empty or about another subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby

from db.engine.connection import Connection
from db.queries.tool_figures import SerialStep, serial_steps
from db.queue.stored_jobs import StoredJob
from lumos_queue.formulations.base import Formulation, version_of
from lumos_queue.formulations.state_keeping import StateKeeping
from lumos_queue.limits import MAX_STEPS
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import APPEND, REWRITE, UNREADABLE, StateRecord, TaskState, read_record, rewrite
from lumos_queue.records import FinishReason, Role
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.score_values import Range
from lumos_queue.scoring.statistics import compute_weighted_interval
from lumos_queue.text_calls.three_lines import read_reply


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """The state manager's judgement of a call. An unreadable judgement counts as a failure; the router reads it so."""

    task: int
    success: bool
    ok: bool  #: the call's status
    unreadable: bool


@dataclass(slots=True)
class RouterCounts:
    """Counts of the router's steps in the episodes of a job."""

    episodes: int = 0
    decisions: int = 0
    repairs: int = 0  #: repeated calls of the router after a reply without an action
    repeated: int = 0  #: decisions that the repeat guard refused
    summaries: int = 0  #: calls of the state manager for a shorter record
    forced: int = 0  #: episodes with a last decision that can only finish


@dataclass(slots=True)
class StepCounts:
    """Counts of steps in the episodes of a job, and the verdicts of the state manager."""

    router: RouterCounts = field(default_factory=RouterCounts)
    verdicts: list[CallVerdict] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class VerdictShare:
    """The share of verdicts that disagree with the status of the judged call, with tasks as clusters."""

    count: int
    of: int
    value: float | None = field(default=None, metadata=OPTIONAL)  #: None without verdicts
    ci95: Range | None = field(default=None, metadata=OPTIONAL)  #: None without verdicts


@dataclass(frozen=True, slots=True)
class VerdictFigures:
    """The verdicts of a state manager on calls."""

    verdicts: int
    unreadable: int
    disagreement: VerdictShare
    success_of_failed_calls: VerdictShare
    failure_of_ok_calls: VerdictShare


def state_figures(
    connection: Connection, job: StoredJob, formulation: Formulation, state: StateKeeping
) -> tuple[RouterCounts, VerdictFigures]:
    """Return the figures of the router and of the state manager of a job whose formulation keeps this state.

    The settings `repair`, `update` and `force_finish` count where the formulation has them.
    """
    agent = Agent.from_json(job.spec.get("infer", job.spec)["agent"])
    settings, counts = formulation.read_settings(agent), StepCounts()
    router = counts.router
    version = version_of(job.spec)

    def is_recorded_alone(status: str) -> bool:
        return state.is_recorded_alone(status, version)

    for _, steps in groupby(serial_steps(connection, job.id), key=lambda step: step.episode):
        before = router.decisions
        repair, update = settings.get("repair", False), settings.get("update", APPEND)
        _count_episode(counts, steps, repair, update, version, is_recorded_alone)
        is_beyond = router.decisions - before > (agent.limits.steps or MAX_STEPS)
        router.forced += int(settings.get("force_finish", False) and is_beyond)
    return router, _describe_verdicts(counts.verdicts)


def _count_episode(
    counts: StepCounts,
    steps: Iterable[SerialStep],
    repair: bool,
    update: str,
    version: int,
    is_recorded_alone: Callable[[str], bool],
) -> None:
    router = counts.router
    router.episodes += 1
    earlier = router.decisions
    before, may_repair = SerialStep(0, 0, -1, "nobody", "", ""), False
    for step in steps:
        if step.who == Role.ROUTER:
            if before.who == Role.ROUTER and may_repair:
                router.repairs, may_repair = router.repairs + 1, False
            else:
                router.decisions += 1
                is_cut = step.status == FinishReason.LENGTH
                may_repair = repair and not read_reply(step.text, version, is_cut).action
        elif step.who == Role.STATE_MANAGER:
            if not before.who and not is_recorded_alone(before.status):
                record = _read_verdict(step.text, router.decisions - earlier, update)
                unreadable = not record.success and record.text == UNREADABLE
                counts.verdicts.append(CallVerdict(step.task, record.success, before.status == "ok", unreadable))
            elif before.position >= 0:  # otherwise the reply divided the request into parts
                router.summaries += 1
        elif not step.who:
            router.repeated += step.text == REPEATED
        before = step


def _read_verdict(reply: str, number: int, update: str) -> StateRecord:
    """Return the record of the newest call from a state manager's reply; `number` counts the decisions so far."""
    if update != REWRITE:
        return read_record(reply, "", "")
    before = TaskState((StateRecord(False, "", ""),) * (number - 1))
    return rewrite(before, reply, "", "").records[-1]


def _describe_verdicts(verdicts: list[CallVerdict]) -> VerdictFigures:
    failed_calls, ok_calls = (
        [verdict for verdict in verdicts if not verdict.ok],
        [verdict for verdict in verdicts if verdict.ok],
    )
    return VerdictFigures(
        verdicts=len(verdicts),
        unreadable=sum(verdict.unreadable for verdict in verdicts),
        disagreement=_measure(verdicts, [verdict.success != verdict.ok for verdict in verdicts]),
        success_of_failed_calls=_measure(failed_calls, [verdict.success for verdict in failed_calls]),
        failure_of_ok_calls=_measure(ok_calls, [not verdict.success for verdict in ok_calls]),
    )


def _measure(verdicts: list[CallVerdict], wrong: list[bool]) -> VerdictShare:
    """Return the share of wrong verdicts."""
    triples = [(verdict.task, float(is_wrong), 1.0) for verdict, is_wrong in zip(verdicts, wrong, strict=True)]
    if (interval := compute_weighted_interval(triples)) is None:
        return VerdictShare(sum(wrong), len(verdicts))
    value, low, high = (round(bound, 6) for bound in interval)
    return VerdictShare(sum(wrong), len(verdicts), value, (low, high))
