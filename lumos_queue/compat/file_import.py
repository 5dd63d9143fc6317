"""Import released files as stored episodes.

The files have only the result of each subgoal's last action, so the results of the other actions are stored as ''.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from db.engine.connection import Database
from db.kinds.job_kinds import JobKind
from db.kinds.name_and_tags import UNNAMED, NameAndTags
from db.kinds.pools import Pool
from db.queue.new_jobs import NewJob
from db.transfer.imports import ImportedEpisode, store_episodes
from lumos_queue.commands import Do, Note, Step, digest
from lumos_queue.compat.reading import ReleasedRow
from lumos_queue.compat.row_join import Join
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions
from lumos_queue.records import (
    MODULES,
    Action,
    AnnotatedSubgoal,
    Annotation,
    Ending,
    Execution,
    Level,
    Origin,
    Outcome,
    Role,
    Subgoal,
    Task,
    Verdict,
)
from lumos_queue.settings import Settings
from lumos_queue.util.version import code_version

_OPERAND = re.compile(r"R[0-9]+(?:\(.*\))?|Output|-?[0-9][0-9.,/%]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JoinedAnnotation:
    """An annotation and the verdicts on it. In a onetime annotation all actions belong to the last subgoal."""

    task: Task
    annotation: Annotation
    verdicts: tuple[Verdict, ...]

    @property
    def level(self) -> str:
        """The check level of the episode: `format`, or '' if the rows of both modules are rejected."""
        modules = {verdict.module for verdict in self.verdicts if verdict.rejects}
        return "" if modules.issuperset(MODULES) else Level.FORMAT


def read_joined_annotations(join: Join, benchmark: str, dataset: str = "") -> Iterator[JoinedAnnotation]:
    """Yield the annotations of two joined files. `Task.row` is the id of the planner's row."""
    for plan, ground in join.pairs():
        inputs = {"domain": ground.domain, "plan_id": plan.id, "ground_id": ground.id}
        task = Task(benchmark, dataset, plan.id, plan.task, inputs)
        steps = tuple(_steps(plan, ground))
        answer = steps[-1].results[-1] if steps and steps[-1].results else ""
        yield JoinedAnnotation(task, Annotation(steps, answer), tuple(_verdicts(plan, steps)))


def _steps(plan: ReleasedRow, ground: ReleasedRow) -> Iterator[AnnotatedSubgoal]:
    groundings = ground.groundings
    if plan.formulation == "onetime":
        groundings = ("",) * (len(plan.subgoals) - 1) + groundings
    reported_results = plan.results or ("",) * len(plan.subgoals)
    for number, (text, grounding, result) in enumerate(
        zip(plan.subgoals, groundings, reported_results, strict=True), start=1
    ):
        actions = read_actions(grounding)
        results = ("",) * (len(actions) - 1) + (result,) if actions else ()
        yield AnnotatedSubgoal(Subgoal(number, text), actions, results)


def _verdicts(plan: ReleasedRow, steps: Sequence[AnnotatedSubgoal]) -> Iterator[Verdict]:
    """Yield the verdicts on the steps, at most one of each name."""
    actions = [action for step in steps for action in step.actions]
    unreadable = [action.raw for action in actions if not action.variables or _is_remnant(action)]
    silent = [step.subgoal.text for step in steps if not step.actions]
    if unreadable or not actions or (silent and plan.formulation == "iterative"):
        yield Verdict(Role.GROUNDER, "unreadable", next(iter(unreadable or silent), "no actions")[:200])
    if any(_is_self_alias(action) for action in actions):
        yield Verdict(Role.GROUNDER, "alias of itself", rejects=False)
    if plan.formulation == "iterative" and DOMAINS.load(plan.domain).reports == "result":
        empty = [step.subgoal.text for step, result in zip(steps, plan.results, strict=True) if not result]
        if empty:
            yield Verdict(Role.PLANNER, "empty result", empty[0][:200])


def _is_remnant(action: Action) -> bool:
    """Whether the action is neither a call nor an operand: the original writes such texts for `R1 = 5` or no action."""
    return not action.name and not _OPERAND.fullmatch(action.arguments)


def _is_self_alias(action: Action) -> bool:
    return not action.name and action.variables == (action.arguments,)


def import_job(
    settings: Settings,
    identity: str,
    spec: dict[str, Any],
    benchmark: str,
    formulation: str,
    split: str,
    licence: str,
    name_and_tags: NameAndTags = UNNAMED,
) -> NewJob:
    """Return the row of an import job. `identity`: the job's digest, by which a repeated import is recognised."""
    return NewJob(
        kind=JobKind.IMPORT,
        pool=Pool.CPU,
        digest=identity,
        spec=spec,
        benchmark=benchmark,
        formulation=formulation,
        agent="",
        split=split,
        licence=licence,
        seed=0,
        project=settings.project,
        submitted_by=settings.user,
        priority=0,
        code_version=code_version(),
        name=name_and_tags.name,
        tags=name_and_tags.tags,
    )


def store_released(
    database: Database,
    settings: Settings,
    join: Join,
    benchmark: str,
    split: str,
    licence: str,
    again: bool = False,
    name_and_tags: NameAndTags = UNNAMED,
    *,
    formulations: Mapping[str, str],
) -> tuple[str, bool, Counter[str]]:
    """Store each pair of rows as an episode of an import job. Return its id, whether it is new, and counts of verdicts.

    `formulations`: the formulation of the files to that of the episodes. Raises SpecError if the join has no pair.
    """
    summary = join.summary
    if not summary.pairs:
        raise SpecError(
            "No row of the plan file has the same task and subgoals as a row of the ground file. "
            "Expected two files made from the same annotations."
        )
    hasher = hashlib.sha256(digest(Origin.IMPORTED, benchmark, split).encode())
    for identifier, task in join.tasks():
        hasher.update(digest(identifier, task).encode())
    dataset, verdicts = hasher.hexdigest(), Counter[str]()
    spec = {"files": summary.sha256, "domains": sorted(summary.domains), "rows": summary.rows, "pairs": summary.pairs}
    identity = digest("import", benchmark, split, licence, *summary.sha256.values())
    new = import_job(
        settings, identity, spec, benchmark, formulations[summary.formulation], split, licence, name_and_tags
    )

    def episodes() -> Iterator[ImportedEpisode]:
        for joined_annotation in read_joined_annotations(join, benchmark, dataset):
            verdicts.update(verdict.name for verdict in joined_annotation.verdicts)
            steps = tuple(_as_steps(joined_annotation.annotation))
            outcome = Outcome(joined_annotation.annotation.answer, Ending.ANSWERED)
            yield ImportedEpisode(
                joined_annotation.task, steps, outcome, joined_annotation.level, joined_annotation.verdicts
            )

    job, is_new = store_episodes(database, new, episodes(), Origin.IMPORTED, dataset, again)
    return job, is_new, verdicts


def _as_steps(annotation: Annotation) -> Iterator[Step]:
    """Yield the annotation as steps, each subgoal before its actions. A onetime annotation has all subgoals first."""
    commands: list[tuple[Note | Do, Execution | None]] = []
    for step in annotation.steps:
        commands.append((Note(step.subgoal), None))
        commands += [
            (Do(action), _execution(action, result)) for action, result in zip(step.actions, step.results, strict=True)
        ]
    for position, (command, result) in enumerate(commands):
        yield Step(position, 0, command, result)


def _execution(action: Action, result: str) -> Execution:
    """Return the execution of an action. If `result` has a part for each variable, split it, else repeat it."""
    parts = result.split(", ")
    if len(parts) != len(action.variables):
        parts = [result] * len(action.variables)
    return Execution("ok", result, tuple({"text": part} for part in parts))
