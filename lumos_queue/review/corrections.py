"""Corrections: a person changes subgoals or actions of an episode, and the result is stored as a new episode.

Nothing is overwritten. If the domain's actions can be run here, all of them run again, so that later results follow
from the changes; otherwise the stated results are kept. The new episode is then checked as a conversion is.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from db.connection import Database
from db.episode_names import finished_trajectory
from db.imports import ImportedEpisode, store_episodes
from db.new_jobs import NewJob
from db.reading import Trajectory
from db.tags import UNNAMED, NameAndTags
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
from lumos_queue.records import Action, AnnotatedSubgoal, Ending, Execution, Outcome, Task, Verdict
from lumos_queue.review.edits import Changes, Steps, apply_changes
from lumos_queue.settings import Settings
from lumos_queue.util.sanitize import storable
from lumos_queue.util.version import code_version

MAX_TOKENS = 1024  #: of a module's conversation, if the parent's job does not say
Seen = Sequence[tuple[Action, str, Execution]]  #: each action, its stated result, its execution


@dataclass(frozen=True, slots=True)
class Correction:
    """The new episode of a correction."""

    episode: str  #: JOB-NUMBER
    parent: str
    level: str  #: its check level; empty: it is accepted for no module
    answer: str | None
    verdicts: tuple[Verdict, ...]


def annotation_text(database: Database, name: str) -> str:
    """The steps of a finished episode as text that can be edited and given back as `Changes.text`."""
    with database.engine.connect() as connection:
        return write_annotation(_steps_of(finished_trajectory(connection, name), True))


@dataclass(frozen=True, slots=True)
class CheckedCorrection:
    """A correction that was executed and checked, and is not stored."""

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


def check_correction(database: Database, name: str, changes: Changes) -> CheckedCorrection:
    """Make the changes of the episode of that name, run and check the result, and store nothing.

    Raises SpecError if a change cannot be made or read, if it changes nothing, or if an action fails.
    """
    with database.engine.connect() as connection:
        parent = finished_trajectory(connection, name)
    before = _steps_of(parent, bool(changes.text))
    stated = {} if changes.text else changes.actions
    episode, after = asyncio.run(_check_correction(parent, before, apply_changes(before, changes), stated))
    return CheckedCorrection(
        parent, before, after, episode.level, episode.outcome.answer, tuple(episode.verdicts), episode
    )


def correct(
    database: Database, settings: Settings, name: str, changes: Changes, named: NameAndTags = UNNAMED
) -> Correction:
    """Store the episode of that name with the changes as a new one, submitted by `settings.user`.

    Raises SpecError if a change cannot be made or read, if it changes nothing, or if an action fails.
    """
    checked = check_correction(database, name, changes)
    parent, episode, parent_name = checked.parent, checked.episode, checked.parent_name
    new = NewJob(
        kind="correct",
        pool="cpu",
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
        name=named.name,
        tags=named.tags,
        main_metric=episode.scores[0].metric,
    )
    job, _ = store_episodes(database, new, [episode], "corrected", parent.task.dataset)
    return Correction(f"{job}-0", parent_name, checked.level, checked.answer, checked.verdicts)


def _changes_as_json(changes: Changes) -> dict[str, Any]:
    """The changes as their job stores them."""
    actions = {f"{subgoal}-{place}": storable(text)[0] for (subgoal, place), text in changes.actions.items()}
    subgoals = {str(number): storable(text)[0] for number, text in changes.subgoals.items()}
    return {"subgoals": subgoals, "actions": actions, "text": storable(changes.text)[0]}


def _steps_of(parent: Trajectory, whole: bool) -> Steps:
    """The steps to change. With `whole`, also steps whose actions are not assigned to subgoals."""
    found = annotation_of(parent.steps, "") or (one_pass_annotation_of(parent.steps, "") if whole else None)
    if found is None:
        raise SpecError(
            f"Episode {parent.job.id}-{parent.item.ordinal} does not have actions for each subgoal. "
            "Give the whole annotation: lumos correct EPISODE --file FILE (--print shows the current one)."
        )
    return found.steps


async def _check_correction(
    parent: Trajectory, before: Steps, steps: Steps, stated: Mapping[tuple[int, int], str]
) -> tuple[ImportedEpisode, Steps]:
    """The corrected episode, executed and checked, and its steps with their results.

    `stated`: the changed actions, whose results must be as stated.
    """
    task, source = parent.task, _source_of(parent)
    actions = _actions_of(source)
    runs = not isinstance(actions, StatedResults)
    steps = tuple(map(_drop_results if runs else with_stated_results, steps))
    try:
        seen, recorded = await _execute(task, steps, actions)
        _require_success(before, steps, seen, stated, runs)
        most = (parent.job.spec or {}).get("most_tokens", MAX_TOKENS)
        check = AnnotationCheck(source, task, most, load_token_counter(""))
        results = iter(execution.result for _, _, execution in seen)
        found = tuple(replace(step, results=tuple(next(results) for _ in step.actions)) for step in steps)
        if _comparable(found) == _comparable(before):
            raise SpecError("Nothing changes: the episode already has this text and these results.")
        check.check(TeacherReply(found))
        outcome = check.judge([(action, execution.result, execution) for action, _, execution in seen])
        check.note_links(None)
        level = check.reached_level()
        if level == "executed" and runs:
            finding = await perturbation(source, task, [action for action, _, _ in seen], actions)
            level = "perturbed" if finding.passed else level
            check.verdicts += make_verdicts("differs when perturbed", finding.differs) if finding.differs else []
    finally:
        await actions.close()
    if check.level == "format" and outcome.ending == "answered":
        outcome = Outcome(_last_result(seen) or parent.episode.answer or "", Ending.ANSWERED)
    verdicts = tuple(replace(one, detail=storable(one.detail)[0]) for one in merge_verdicts(check.verdicts))
    score = acceptance_score(source.check_level, verdicts)
    new = ImportedEpisode(
        parent.item.task, recorded, outcome, level, verdicts, (score,), parent.episode.id, parent.episode.sample
    )
    return new, found


def _drop_results(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    """The step with actions rewritten without their stated results, which may no longer hold."""
    return replace(step, actions=tuple(replace(action, raw=write_action(action)) for action in step.actions))


def _comparable(steps: Steps) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """The content of the steps, regardless of how it was written."""
    return [(step.subgoal.text, [write_action(action) for action in step.actions], step.results) for step in steps]


def _source_name(parent: Trajectory) -> str:
    """The name that opens the source: a custom source has a module, named in the conversion's request."""
    return (parent.job.spec or {}).get("source") or parent.task.benchmark


def _source_as_json(parent: Trajectory) -> dict[str, Any]:
    """What opens the source again: its name, and the definition where its rows are of a person's own file."""
    definition = definition_of(parent.job.spec or {})
    return {"source": _source_name(parent)} | ({"definition": definition.as_json()} if definition else {})


def _source_of(parent: Trajectory) -> Benchmark:
    """The source of the episode's task; for imported tasks, one that knows at most the domain."""
    try:
        return open_source(_source_name(parent), definition_of(parent.job.spec or {}))
    except SpecError:
        return _UnknownSource(parent.task)


class _UnknownSource(Benchmark):
    """A source without known gold answers: only the form of its annotations can be checked."""

    def __init__(self, task: Task):
        self.name, self.domain, self.check_level = task.benchmark, task.inputs.get("domain", ""), "format"


def _actions_of(source: Benchmark) -> StatelessActions:
    try:
        return DOMAINS.load(source.domain).open_stateless()
    except SpecError:  # its tools are not available
        return StatedResults(source.domain)


async def _execute(task: Task, steps: Steps, actions: StatelessActions) -> tuple[Seen, Sequence[Step]]:
    journal = MemoryJournal()
    seen: list[Checked] = []

    def formulation(_task: Task, _agent: None) -> Commands[Outcome]:
        seen.extend((yield from act_out(steps)))
        return Outcome(None, Ending.ANSWERED)

    async with Executor({}, actions, Sampling(), 0).for_episode(task, 0) as perform:
        await run_episode(formulation, task, None, journal, perform)
    return seen, journal.steps


def _require_success(
    before: Steps, steps: Steps, seen: Seen, stated: Mapping[tuple[int, int], str], runs: bool
) -> None:
    """Raises SpecError for the first action that fails, or whose result is not the one that the person states."""
    have_results = any(result for step in before for result in step.results)
    places = [(step.subgoal.number, place) for step in steps for place in range(1, len(step.actions) + 1)]
    for place, (action, result, execution) in zip(places, seen, strict=True):
        label = f"Action {place[0]}-{place[1]}, {write_action(action)[:80]},"
        if not execution.ok:
            raise SpecError(f"{label} fails: {execution.message or execution.status}. Nothing was stored.")
        if place in stated and result:
            if runs and matches_stated(execution, result) is False:
                raise SpecError(f"{label} gives {execution.result}, not {result}. Nothing was stored.")
        elif place in stated and not runs and have_results:
            raise SpecError(f"{label} cannot be run here: state its result, e.g. R1 = Name(arguments) = result.")


def _last_result(seen: Seen) -> str:
    return seen[-1][2].result if seen else ""
