"""Compare the accepted annotations of a conversion with those that the present rules make. Nothing is changed.

The actions of the new annotations are not run: their form is checked, and the doubts of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from db.journal.step_records import select_annotated_steps
from db.queries.filters import Filter, Term
from db.queries.trajectories import StoredEpisode, stream_episodes
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.conversion.check import AnnotationCheck
from lumos_queue.conversion.lengths import load_token_counter
from lumos_queue.conversion.teacher import TeacherReply
from lumos_queue.conversion.verdicts import rejections
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal, Task
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.option import list_changed

if TYPE_CHECKING:
    from db.engine.connection import Database


@dataclass(frozen=True, slots=True)
class RecheckedEpisode:
    """An accepted episode that the present rules would reject or write differently."""

    episode: str  #: JOB-NUMBER
    row: str
    level: str  #: of its check
    reason: str  #: why it would be rejected, or the first difference


@dataclass(frozen=True, slots=True)
class Recheck:
    """The accepted episodes of a conversion beside the annotations that the present rules make."""

    job: str
    source: str
    rules: int  #: the version of the rules of the conversion
    present_rules: int  #: the version of the present rules
    accepted: int
    same: int
    rejected: Sequence[RecheckedEpisode]
    changed: Sequence[RecheckedEpisode]  #: have other actions
    reworded: Sequence[RecheckedEpisode]  #: have other subgoals and the same actions


def recheck_conversion(database: Database, job: StoredJob) -> Recheck:
    """Return which accepted episodes the present rules would reject, or write differently, with the reasons.

    `job` is the row of a conversion by rule. Raises SpecError for other jobs.
    """
    if job.kind != Convert.kind:
        raise SpecError(f"Job {job.id} is no conversion ({job.kind}): --recheck is for jobs of lumos convert.")
    if job.spec.get("teacher"):
        raise SpecError(f"Job {job.id} was converted by a teacher: --recheck is for conversions by rule.")
    conversion = Convert.from_json(job.spec)
    source = open_source(conversion.source, conversion.definition)
    accepted = Filter((Term("job", "=", job.id), Term("level", ">=", "format"), Term("verdict", "=", "accepted")))
    count = 0
    rejected: list[RecheckedEpisode] = []
    changed: list[RecheckedEpisode] = []
    reworded: list[RecheckedEpisode] = []
    for episode in stream_episodes(database, accepted):
        count += 1
        steps, reason = _convert(conversion, source, episode.task)
        if reason:
            episodes_of_kind = rejected
        elif reason := _find_difference(episode, steps, Action):
            episodes_of_kind = changed
        elif reason := _find_difference(episode, steps, Subgoal):
            episodes_of_kind = reworded
        else:
            continue
        episodes_of_kind.append(RecheckedEpisode(episode.name, episode.task.row, episode.level, reason))
    return Recheck(
        job=job.id,
        source=conversion.source,
        rules=conversion.rule_version,
        present_rules=source.rule_version,
        accepted=count,
        same=count - len(rejected) - len(changed) - len(reworded),
        rejected=rejected,
        changed=changed,
        reworded=reworded,
    )


def check_recheck(request: ConversionRequest) -> None:
    """Raises SpecError for any other option beside --recheck."""
    if request.source:
        raise SpecError(f"--recheck takes the rows of job {request.recheck}: leave out '{request.source}'.")
    if flags := [option.flag for option in list_changed(request) if option.field != "recheck"]:
        raise SpecError(f"--recheck JOB compares stored episodes: give it alone, without {', '.join(flags)}.")


def _convert(conversion: Convert, source: Benchmark, task: Task) -> tuple[Sequence[AnnotatedSubgoal], str]:
    """Return the steps that the present rules make, and why they would be rejected; '' if they would not."""
    try:
        steps = conversion.make_annotation(source, task).steps
    except NotConvertible as error:
        return (), error.reason
    except SpecError as error:
        return (), str(error)
    check = AnnotationCheck(source, task, conversion.most_tokens, load_token_counter(conversion.tokenizer))
    check.check(TeacherReply(steps))
    check.note_doubts(source.review(task).doubts)
    wrong = rejections(check.verdicts)
    return steps, f"{wrong[0].name}: {wrong[0].detail}" if wrong else ""


def _find_difference(
    episode: StoredEpisode, steps: Sequence[AnnotatedSubgoal], kind: type[Subgoal] | type[Action]
) -> str:
    """Return the first difference between stored and new subgoals, or actions, as text; '' if there is none."""
    stored_parts = (step.detail for step in select_annotated_steps(episode.steps))
    new_parts = (part for step in steps for part in (step.subgoal, *step.actions))
    stored, new = ([_text(part) for part in parts if isinstance(part, kind)] for parts in (stored_parts, new_parts))
    for index in range(max(len(stored), len(new))):
        before = stored[index] if index < len(stored) else "nothing"
        after = new[index] if index < len(new) else "nothing"
        if before != after:
            return f"'{before}' would be '{after}'"
    return ""


def _text(part: Subgoal | Action) -> str:
    if isinstance(part, Subgoal):
        return part.text
    return f"{', '.join(part.variables)} = {part.name}({part.arguments})"
