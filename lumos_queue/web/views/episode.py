"""One episode: its lanes, steps, tree or graph, labels and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from db.engine.connection import Connection
from db.journal.artifacts import peek_artifact
from db.queries.related_episodes import MAX_RELATIVES, Relative, find_relatives
from db.queries.trajectory import Trajectory, list_other_attempts
from db.queue.stored_jobs import StoredJob
from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.pages.sections.failures import IMAGES
from lumos_queue.pages.trajectories import ShownCall, describe_facts, describe_verdicts, show_calls
from lumos_queue.records import Completion, Execution
from lumos_queue.reports.episode_values import EpisodeLabel, EpisodeReport, Step
from lumos_queue.reports.lanes import PlacedRow, place_rows
from lumos_queue.reports.pictures import Picture, list_pictures
from lumos_queue.reports.plan_graph import GraphNode, read_graph
from lumos_queue.reports.step_tree import TreeNode, read_tree
from lumos_queue.reports.tool_agents import calls_functions, column_heads
from lumos_queue.reports.trajectory import describe_labels, describe_trajectory
from lumos_queue.util.images import ends_unlike, media_type_of
from lumos_queue.util.wording import format_bytes, format_seconds

LIMITS = PageLimits(text=3_000, prompt=6_000, steps=100, pictures=0, shows_counterparts=False, rows=100, points=0)
MAX_PICTURES = 60  #: shown of an episode
MAX_TREE = 400  #: steps of an episode whose tree is shown


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step with shortened texts; the whole texts have their own addresses."""

    at: str
    who: str
    call: ShownCall | None  #: of a model
    what: str
    result: str
    facts: str
    parts: Sequence[tuple[str, int]]  #: (name, characters) of its texts
    message: str = ""  #: what the server sent, where it differs from the reply


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture or file that a step or the task names."""

    label: str
    path: str  #: '' if it is only named
    of: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """The content of an episode's page. Texts are plain."""

    name: str
    job: StoredJob
    report: EpisodeReport
    question: str
    facts: Sequence[tuple[str, str]]
    heads: Sequence[str]
    rows: Sequence[PlacedRow]
    steps: Sequence[ShownStep]
    first: int  #: position of the first visible step
    left: int  #: steps after the last visible step
    tree: Sequence[Sequence[TreeNode]]
    graph: Sequence[Sequence[GraphNode]]
    pictures: Mapping[str, Sequence[ShownPicture]]  #: by the step or task that names them
    verdicts: Sequence[str]
    own_labels: Sequence[EpisodeLabel]
    other_labels: Sequence[EpisodeLabel]
    attempts: Sequence[int]  #: that were given up
    relatives: Sequence[Relative]
    more_relatives: bool


def read_episode(connection: Connection, trajectory: Trajectory, person: str, first: int = 0) -> EpisodeView:
    """Return the view of an episode.

    `person`: the user, whose labels are listed separately. `first`: the position of the first visible step.
    """
    episode = describe_trajectory(trajectory)
    steps = episode.steps
    first = min(first, max(0, len(steps) - 1))
    visible_steps = steps[first : first + LIMITS.steps]
    calls = {call.at: call for call in show_calls(steps, replace(LIMITS, steps=len(steps) or 1))}
    positions = {step.at for step in visible_steps}
    rows = [row for row in place_rows(episode) if row[0] in positions]
    pictures = list_pictures(connection, trajectory, shown_to_models=True)
    labels = describe_labels(trajectory)
    relatives = find_relatives(connection, trajectory.episode)
    return EpisodeView(
        name=episode.episode,
        job=trajectory.job,
        report=episode,
        question=truncate(episode.question, LIMITS.text),
        facts=[*describe_facts(episode, LIMITS), *_tell_phases(trajectory)],
        heads=column_heads(episode.formulation),
        rows=[
            (position, [[(truncate(text, 1_000), style) for text, style in cell] for cell in row])
            for position, row in rows
        ],
        steps=[_show_step(step, calls.get(step.at)) for step in visible_steps],
        first=first,
        left=max(0, len(steps) - first - len(visible_steps)),
        tree=_read_tree(episode),
        graph=read_graph(trajectory, pictures),
        pictures=_show_pictures(connection, pictures),
        verdicts=describe_verdicts(episode),
        own_labels=[label for label in labels if label.labeller == person],
        other_labels=[label for label in labels if label.labeller != person],
        attempts=list_other_attempts(connection, trajectory),
        relatives=relatives[:MAX_RELATIVES],
        more_relatives=len(relatives) > MAX_RELATIVES,
    )


def parts_of(step: Step) -> dict[str, str]:
    """Return the whole texts of a step, by name, without empty texts."""
    is_call = bool(step.prompt)
    texts = {
        "prompt": step.prompt,
        "reply" if is_call else "text": step.what,
        "result": "" if is_call else step.result,
        "note": step.note or "",
        "reasoning": step.reasoning or "",
        "message": step.message or "",
    }
    return {name: text for name, text in texts.items() if text}


def _show_step(step: Step, call: ShownCall | None) -> ShownStep:
    facts = [step.result] if call else []
    facts += [format_seconds(step.seconds)] if step.seconds else []
    facts += [f"after step {step.parent}"] if step.parent is not None and step.parent >= 0 else []
    facts += [f"answered from: {step.provenance}"] if step.provenance else []
    facts += [truncate(step.note, 300)] if step.note else []
    return ShownStep(
        at=step.at,
        who=step.who,
        call=call,
        what=truncate(step.what, LIMITS.prompt),
        result="" if call else truncate(step.result, LIMITS.prompt),
        facts=", ".join(facts),
        parts=[(name, len(text)) for name, text in parts_of(step).items()],
        message=truncate(step.message or "", LIMITS.prompt),
    )


def _tell_phases(trajectory: Trajectory) -> list[tuple[str, str]]:
    """The seconds of each phase of the accepted attempt, without empty phases."""
    calls = [(step.role, step.result) for step in trajectory.steps if isinstance(step.result, Completion)]
    phases = {
        "waiting for a place": sum(call.waited for _, call in calls),
        "failed tries": sum(call.lost for _, call in calls),
        "in the server's queue": sum(call.queued for _, call in calls),
    }
    for role in dict.fromkeys(role for role, _ in calls):
        phases[role] = sum(call.seconds - call.queued for of, call in calls if of == role)
    ran = [step.result for step in trajectory.steps if isinstance(step.result, Execution) and not step.branch]
    phases["actions"] = sum(execution.seconds for execution in ran)
    text = ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in phases.items() if seconds > 0)
    return [("time", text)] if text else []


def _read_tree(episode: EpisodeReport) -> Sequence[Sequence[TreeNode]]:
    """The tree of an episode with branches; without branches, the lanes show the same."""
    if not calls_functions(episode.formulation) or len(episode.steps) > MAX_TREE:
        return ()
    ways = read_tree(episode.steps, episode.formulation_version)
    return ways if len(ways) > 1 or any(way[-1].branches for way in ways) else ()


def _show_pictures(connection: Connection, pictures: Sequence[Picture]) -> dict[str, list[ShownPicture]]:
    """The pictures by the step or task that names them, and the number of pictures beyond the limit."""
    views: dict[str, list[ShownPicture]] = {}
    for picture in pictures[:MAX_PICTURES]:
        views.setdefault(picture.of, []).append(_show_picture(connection, picture))
    if (remaining := len(pictures) - MAX_PICTURES) > 0:
        views.setdefault("", []).append(ShownPicture(f"and {remaining:,} more", "", ""))
    return views


def _show_picture(connection: Connection, picture: Picture) -> ShownPicture:
    digest, kind = picture.sha256, picture.media_type
    label = f"{picture.of}: {kind or 'file'} {digest[:12]}…"
    if picture.bytes is None:
        return ShownPicture(label, "", picture.of, "not stored any more")
    if kind not in IMAGES:
        return ShownPicture(f"{label} {format_bytes(picture.bytes)}", "", picture.of)
    ends = peek_artifact(connection, digest)
    if ends is None:
        return ShownPicture(label, "", picture.of, "not stored any more")
    if problem := find_damage(kind, *ends):
        return ShownPicture(label, "", picture.of, problem)
    return ShownPicture(label, f"/artifacts/{digest}", picture.of)


def find_damage(media_type: str, beginning: bytes, end: bytes) -> str:
    """Return why a browser would not show the picture with these first and last bytes as its stored type; else ''."""
    try:
        actual_type = media_type_of(beginning)
    except ValueError:
        return "broken: it does not begin as a picture does"
    if actual_type != media_type:
        return f"broken: it is stored as {media_type} and begins as {actual_type}"
    return "broken: it does not end as a whole picture does" if ends_unlike(media_type, end) else ""
