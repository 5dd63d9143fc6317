"""Correct an episode: a person changes its subgoals or actions, and the changed episode is stored as a new episode.

The old episode stays as it is. If the domain's actions can run on this machine, all actions run again, so that later
results follow from the changes. Otherwise the stated results stay. Then the new episode is checked like a conversion.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from db.engine.connection import Database
from db.kinds.job_kinds import JobKind
from db.kinds.name_and_tags import UNNAMED, NameAndTags
from db.kinds.pools import Pool
from db.queries.episode_names import load_finished_trajectory
from db.queries.trajectory import Trajectory
from db.queue.new_jobs import NewJob
from db.queue.web_actions import PersonAction
from db.transfer.imports import ImportedEpisode, store_episodes
from lumos_queue.actions.base import StatelessActions
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import definition_of, open_source
from lumos_queue.builds.annotations import annotation_of, one_pass_annotation_of
from lumos_queue.commands import Commands, Step
from lumos_queue.conversion.check import AnnotationCheck
from lumos_queue.conversion.lengths import load_token_counter
from lumos_queue.conversion.oracle import StatedResults, with_stated_results
from lumos_queue.conversion.perturbation import perturbation
from lumos_queue.conversion.teacher import TeacherReply
from lumos_queue.conversion.verdicts import acceptance_score, make_verdicts, merge_verdicts
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import run_episode
from lumos_queue.errors import SpecError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.annotation import Checked, act_out
from lumos_queue.notation import write_action, write_annotation
from lumos_queue.rationales.comparison import matches_stated
from lumos_queue.records import Action, AnnotatedSubgoal, Ending, Execution, Level, Origin, Outcome, Task, Verdict
from lumos_queue.review.edits import Changes, Steps, apply_changes
from lumos_queue.settings import Settings
from lumos_queue.util.sanitize import storable
from lumos_queue.util.version import code_version

MAX_TOKENS = 1024  #: limit of a module's conversation, if the parent's job has none
Seen = Sequence[tuple[Action, str, Execution]]  #: each action, its stated result, its execution


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of executing a correction."""

    max_actions: int | None = None
    run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run  #: runs the execution, and may end it


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Correction:
    """The new episode of a correction."""

    episode: str  #: JOB-NUMBER
    parent: str
    level: str  #: its check level; '': not accepted for any module
    answer: str | None
    verdicts: tuple[Verdict, ...]


def annotation_text(database: Database, name: str) -> str:
    """Return the steps of a finished episode as text that can be edited and passed as `Changes.text`."""
    with database.engine.connect() as connection:
        return write_annotation(_steps_of(load_finished_trajectory(connection, name), True))


@dataclass(frozen=True, slots=True)
class CheckedCorrection:
    """A correction that was executed and checked, but not stored."""

    parent: Trajectory
    before: Steps
    after: Steps  #: with the results of this run
    level: str  #: as of Correction
    answer: str | None
    verdicts: tuple[Verdict, ...]
    episode: ImportedEpisode

    @property
    def parent_name(self) -> str:
        return f"{self.parent.job.id}-{self.parent.item.ordinal}"


def check_correction(database: Database, name: str, changes: Changes, limits: Limits = UNLIMITED) -> CheckedCorrection:
    """Apply the changes to the episode of that name, and execute and check the new episode, without storing it.

    Raises SpecError if a change cannot be made or read, if it changes nothing, if it has too many actions, or if an
    action fails.
    """
    with database.engine.connect() as connection:
        parent = load_finished_trajectory(connection, name)
    before = _steps_of(parent, bool(changes.text))
    changed_actions = {} if changes.text else changes.actions
    changed_steps = apply_changes(before, changes)
    count = sum(len(step.actions) for step in changed_steps)
    if limits.max_actions is not None and count > limits.max_actions:
        raise SpecError(
            f"The annotation has {count:,} actions, and a page runs at most {limits.max_actions:,}: "
            "correct it with lumos correct EPISODE --file FILE."
        )
    episode, after = limits.run(_check_correction(parent, before, changed_steps, changed_actions))
    return CheckedCorrection(
        parent, before, after, episode.level, episode.outcome.answer, tuple(episode.verdicts), episode
    )


def correct(
    database: Database,
    settings: Settings,
    name: str,
    changes: Changes,
    name_and_tags: NameAndTags = UNNAMED,
    action: PersonAction | None = None,
    limits: Limits = UNLIMITED,
) -> Correction:
    """Apply the changes to the episode of that name, check it, and store it as a new episode of `settings.user`.

    `action` is recorded with the episode.
    Raises SpecError if a change cannot be made or read, if it changes nothing, or if an action fails.
    """
    check = check_correction(database, name, changes, limits)
    parent, episode, parent_name = check.parent, check.episode, check.parent_name
    new = NewJob(
        kind=JobKind.CORRECT,
        pool=Pool.CPU,
        digest=secrets.token_hex(32),  # every correction is a new job
        spec={"episode": parent_name, **_source_as_json(parent), **_changes_as_json(changes)},
        benchmark=parent.task.benchmark,
        formulation="annotation",
        agent="",
        split=parent.episode.split,
        licence=parent.episode.licence,
        seed=0,
        project=settings.project,
        submitted_by=settings.user,
        priority=0,
        code_version=code_version(),
        name=name_and_tags.name,
        tags=name_and_tags.tags,
        main_metric=episode.scores[0].metric,
    )
    job, _ = store_episodes(database, new, [episode], Origin.CORRECTED, parent.task.dataset, action=action)
    return Correction(f"{job}-0", parent_name, check.level, check.answer, check.verdicts)


def _changes_as_json(changes: Changes) -> dict[str, Any]:
    """Return the changes in the form in which the correction's job stores them."""
    actions = {f"{subgoal}-{position}": storable(text)[0] for (subgoal, position), text in changes.actions.items()}
    subgoals = {str(number): storable(text)[0] for number, text in changes.subgoals.items()}
    return {"subgoals": subgoals, "actions": actions, "text": storable(changes.text)[0]}


def _steps_of(parent: Trajectory, whole: bool) -> Steps:
    """Return the steps to change. With `whole`, also steps whose actions are not assigned to subgoals."""
    annotation = annotation_of(parent.steps, "") or (one_pass_annotation_of(parent.steps, "") if whole else None)
    if annotation is None:
        raise SpecError(
            f"Episode {parent.job.id}-{parent.item.ordinal} does not have actions for each subgoal. "
            "Give the whole annotation: lumos correct EPISODE --file FILE (--print shows the current one)."
        )
    return annotation.steps


async def _check_correction(
    parent: Trajectory, before: Steps, steps: Steps, changed_actions: Mapping[tuple[int, int], str]
) -> tuple[ImportedEpisode, Steps]:
    """Execute and check the changed steps. Return the corrected episode, and its steps with their results.

    `changed_actions`: by subgoal and position, the actions whose results must be those that the person states.
    """
    task, source = parent.task, _source_of(parent)
    actions = _actions_of(source)
    runs = not isinstance(actions, StatedResults)
    steps = tuple(map(_drop_results if runs else with_stated_results, steps))
    try:
        executed_actions, recorded_steps = await _execute(task, steps, actions)
        _require_success(before, steps, executed_actions, changed_actions, runs)
        max_tokens = (parent.job.spec or {}).get("most_tokens", MAX_TOKENS)
        check = AnnotationCheck(source, task, max_tokens, load_token_counter(""))
        results = iter(execution.result for _, _, execution in executed_actions)
        new_steps = tuple(replace(step, results=tuple(next(results) for _ in step.actions)) for step in steps)
        if _comparable(new_steps) == _comparable(before):
            raise SpecError("Nothing changes: the episode already has this text and these results.")
        check.check(TeacherReply(new_steps))
        outcome = check.judge([(action, execution.result, execution) for action, _, execution in executed_actions])
        check.note_links(None)
        level = check.compute_level()
        if level == Level.EXECUTED and runs:
            finding = await perturbation(source, task, [action for action, _, _ in executed_actions], actions)
            level = Level.PERTURBED if finding.passed else level
            check.verdicts += make_verdicts("differs when perturbed", finding.differs) if finding.differs else []
    finally:
        await actions.close()
    if check.level == Level.FORMAT and outcome.ending == Ending.ANSWERED:
        outcome = Outcome(_last_result(executed_actions) or parent.episode.answer or "", Ending.ANSWERED)
    verdicts = tuple(replace(verdict, detail=storable(verdict.detail)[0]) for verdict in merge_verdicts(check.verdicts))
    score = acceptance_score(source.check_level, verdicts)
    new = ImportedEpisode(
        parent.item.task, recorded_steps, outcome, level, verdicts, (score,), parent.episode.id, parent.episode.sample
    )
    return new, new_steps


def _drop_results(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    """Remove the stated results from the actions of a step, because these may be wrong after a change."""
    return replace(step, actions=tuple(replace(action, raw=write_action(action)) for action in step.actions))


def _comparable(steps: Steps) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """Return the content of the steps in a form that does not depend on notation."""
    return [(step.subgoal.text, [write_action(action) for action in step.actions], step.results) for step in steps]


def _source_name(parent: Trajectory) -> str:
    """Return the name of the episode's source in the registry. A conversion's request names its own source."""
    return (parent.job.spec or {}).get("source") or parent.task.benchmark


def _source_as_json(parent: Trajectory) -> dict[str, Any]:
    """Return the name of the source, and its definition if its rows are of the user's own file."""
    definition = definition_of(parent.job.spec or {})
    return {"source": _source_name(parent)} | ({"definition": definition.as_json()} if definition else {})


def _source_of(parent: Trajectory) -> Benchmark:
    """Return the source of the episode's task. For an unknown source, only the form of annotations can be checked."""
    try:
        return open_source(_source_name(parent), definition_of(parent.job.spec or {}))
    except SpecError:
        return _UnknownSource(parent.task)


class _UnknownSource(Benchmark):
    """A source without known gold answers: only the form of its annotations can be checked."""

    def __init__(self, task: Task):
        self.name, self.domain, self.check_level = task.benchmark, task.inputs.get("domain", ""), Level.FORMAT


def _actions_of(source: Benchmark) -> StatelessActions:
    try:
        return DOMAINS.load(source.domain).open_stateless()
    except SpecError:  # its tools are not available
        return StatedResults(source.domain)


async def _execute(task: Task, steps: Steps, actions: StatelessActions) -> tuple[Seen, Sequence[Step]]:
    journal = MemoryJournal()
    executed_actions: list[Checked] = []

    def formulation(_task: Task, _agent: None) -> Commands[Outcome]:
        executed_actions.extend((yield from act_out(steps)))
        return Outcome(None, Ending.ANSWERED)

    async with Executor({}, actions, Sampling(), 0).for_episode(task, 0) as perform:
        await run_episode(formulation, task, None, journal, perform)
    return executed_actions, journal.steps


def _require_success(
    before: Steps, steps: Steps, executed_actions: Seen, changed_actions: Mapping[tuple[int, int], str], runs: bool
) -> None:
    """Raise SpecError for the first action that fails, or whose result is not what the person states."""
    have_results = any(result for step in before for result in step.results)
    positions = [(step.subgoal.number, position) for step in steps for position in range(1, len(step.actions) + 1)]
    for position, (action, result, execution) in zip(positions, executed_actions, strict=True):
        label = f"Action {position[0]}-{position[1]}, {write_action(action)[:80]},"
        if not execution.ok:
            raise SpecError(f"{label} fails: {execution.message or execution.status}. Nothing was stored.")
        if position in changed_actions and result:
            if runs and matches_stated(execution, result) is False:
                raise SpecError(f"{label} gives {execution.result}, not {result}. Nothing was stored.")
        elif position in changed_actions and not runs and have_results:
            raise SpecError(f"{label} cannot be run here: state its result, e.g. R1 = Name(arguments) = result.")


def _last_result(executed_actions: Seen) -> str:
    return executed_actions[-1][2].result if executed_actions else ""
