"""One episode: its page, the next episode under a filter, whole texts, the difference to another, and labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from db.engine.connection import Connection
from db.engine.snapshot import reading
from db.journal.step_records import load_steps
from db.queries.episode_names import split_name
from db.queries.filters import Filter, term
from db.queries.jobs import get_job
from db.queries.labels import VALUES, labels_of
from db.queries.text_search import find_neighbour
from db.queries.trajectory import Trajectory, get_trajectory
from db.queue.web_actions import PersonAction
from db.review.label_removal import take_back_label
from db.review.labels import NewLabel, add_labels
from lumos_queue.errors import SpecError
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.reports.step_pairs import pair_episodes, pair_steps
from lumos_queue.reports.trajectory import describe_trajectory, read_stored_scores
from lumos_queue.submission.filters import read_where
from lumos_queue.util.sanitize import storable
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import Annotating, NotFound, Reading, RequestContext
from lumos_queue.web.sharing import share_jobs
from lumos_queue.web.views.episode import parts_of, read_episode

router = APIRouter()
MAX_NOTE = 10_000  #: characters of a label's note
MAX_ATTEMPT = 1_000_000
WRONG = term("score", "<", "1")


@router.get("/episodes/{name}")
def episode_page(visit: Reading, name: str, where: str = "", first: int = 0) -> Response:
    """Everything stored about an episode. `where`: the filter for the keys j, k and w."""
    with reading(visit.site.database) as connection:
        trajectory = find_trajectory(connection, name)
        view = read_episode(connection, trajectory, visit.person.name, max(0, first))
    where = storable(where)[0]
    if name != view.name:
        return RedirectResponse(episode_path(view.name, where), 303)
    # The filter is read before the page is rendered, so that an error appears now and not at the next key.
    scope = str(_scope(visit, view.job.id, where))
    return render(visit, "episode.html", view=view, where=where, scope=scope, values=VALUES)


@router.get("/episodes/{name}/next")
async def next_episode(visit: Reading, name: str, where: str = "", back: bool = False, wrong: bool = False) -> Response:
    """The next or previous episode under the filter; with `wrong`, the next episode with a score below 1."""
    where = storable(where)[0]
    trajectory = await run_in_threadpool(_read_trajectory, visit, name)
    scope, episode = await run_in_threadpool(_scope, visit, trajectory.job.id, where), trajectory.episode.id
    condition = scope & Filter((WRONG,)) if wrong else scope
    key, jobs = ("next", episode, str(condition), back), [] if where else [trajectory.job.id]
    result = await share_jobs(visit, key, jobs, lambda connection: find_neighbour(connection, condition, episode, back))
    neighbour = result.value
    if neighbour is None:
        kind = "wrong episode" if wrong else "episode"
        visit.session.add_notice(
            f"There is no {kind} {'before' if back else 'after'} this one under the filter {scope}."
        )
    return RedirectResponse(episode_path(neighbour or _name(trajectory), where), 303)


@router.get("/episodes/{name}/steps/{at}/{part}")
def step_text(visit: Reading, name: str, at: str, part: str) -> Response:
    """One whole text of a step, as stored: prompt, reply, reasoning, message, text, result or note."""
    with reading(visit.site.database) as connection:
        episode = describe_trajectory(find_trajectory(connection, name))
    step = next((step for step in episode.steps if step.at == at), None)
    if step is None:
        raise NotFound(f"Episode {episode.episode} has no step {at[:40]}: it has {len(episode.steps):,} steps.")
    texts = parts_of(step)
    if part not in texts:
        raise NotFound(f"Step {at} has no text '{part[:40]}': it has {', '.join(texts) or 'none'}.")
    return PlainTextResponse(storable(texts[part])[0])


@router.get("/episodes/{name}/difference")
def difference(
    visit: Reading, name: str, other: str = "", attempt: Annotated[int, Query(ge=0, le=10**6)] = 0
) -> Response:
    """The steps of an episode beside the steps of another episode of the task, or of its own abandoned attempt."""
    with reading(visit.site.database) as connection:
        trajectory = find_trajectory(connection, name)
        if attempt:
            pair = pair_steps(_as_attempt(connection, trajectory, attempt), describe_trajectory(trajectory))
            heads = f"attempt {attempt}, given up", f"attempt {trajectory.episode.attempt}, accepted"
        else:
            other_trajectory = find_trajectory(connection, other)
            pair = pair_episodes(connection, (_name(trajectory), _name(other_trajectory)))
            heads = _name(trajectory), _name(other_trajectory)
    return render(visit, "difference.html", name=_name(trajectory), pair=pair, heads=heads)


@router.post("/episodes/{name}/label")
def label(
    visit: Annotating,
    name: str,
    value: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
    where: Annotated[str, Form()] = "",
) -> Response:
    """Label an episode right, wrong or unsure. A note without a label is added to the person's latest label."""
    if len(note) > MAX_NOTE:
        raise SpecError(f"The note has {len(note):,} characters: expected at most {MAX_NOTE:,}. Shorten it.")
    person = visit.person.name
    with reading(visit.site.database) as connection:
        trajectory = find_trajectory(connection, name)
        if not trajectory.episode.ending:
            raise SpecError(f"Episode {_name(trajectory)} has not ended: label it when it has.")
        value = value or _own_label(connection, trajectory.episode.id, person)
    if value not in VALUES:
        raise SpecError(f"'{value[:40]}' is not a label: expected {', '.join(VALUES)}.")
    action = PersonAction(person, "label", _name(trajectory))
    add_labels(visit.site.database, [NewLabel(trajectory.episode.id, value, person, note.strip())], action, value)
    visit.session.add_notice(f"{_name(trajectory)} is labelled {value}.")
    return RedirectResponse(episode_path(_name(trajectory), where), 303)


@router.post("/episodes/{name}/label/undo")
def undo_label(visit: Annotating, name: str, where: Annotated[str, Form()] = "") -> Response:
    """Take back the person's latest label of an episode."""
    with reading(visit.site.database) as connection:
        trajectory = find_trajectory(connection, name)
    action = PersonAction(visit.person.name, "take back label", _name(trajectory))
    removed_label = take_back_label(visit.site.database, trajectory.episode.id, visit.person.name, action)
    if removed_label is None:
        visit.session.add_notice(f"You have no label of {_name(trajectory)} to take back.")
    else:
        visit.session.add_notice(f"Your label {removed_label} of {_name(trajectory)} is taken back.")
    return RedirectResponse(episode_path(_name(trajectory), where), 303)


def _read_trajectory(visit: RequestContext, name: str) -> Trajectory:
    with reading(visit.site.database) as connection:
        return find_trajectory(connection, name)


def find_trajectory(connection: Connection, name: str) -> Trajectory:
    """Return the episode with this name, in which the job's id may be abbreviated. Raises NotFound."""
    try:
        job, number = split_name(storable(name)[0])
        return get_trajectory(connection, get_job(connection, job), number)
    except SpecError as error:
        raise NotFound(str(error)) from None


def episode_path(name: str, where: str = "") -> str:
    """Return the address of an episode's page."""
    return f"/episodes/{name}" + (f"?{urlencode({'where': where})}" if where else "")


def _scope(visit: RequestContext, job: str, where: str) -> Filter:
    """The filter for the keys j and k; without a filter, all episodes of the job."""
    return read_where(visit.site.database, where) if where else Filter((term("job", "=", job),))


def _name(trajectory: Trajectory) -> str:
    return f"{trajectory.job.id}-{trajectory.item.ordinal}"


def _own_label(connection: Connection, episode: int, person: str) -> str:
    """The person's latest label of the whole episode; '' if there is none."""
    own_values = [
        row.value for row in labels_of(connection, episode) if row.labeller == person and row.position is None
    ]
    return next((value for value in own_values if value in VALUES), "")


def _as_attempt(connection: Connection, trajectory: Trajectory, number: int) -> EpisodeReport:
    """The episode with the steps of another attempt and its ending, if it has one."""
    steps = load_steps(connection, {trajectory.item.id: number})[trajectory.item.id]
    if not steps:
        raise NotFound(f"Episode {_name(trajectory)} has no steps of an attempt {number}.")
    episode = describe_trajectory(replace(trajectory, steps=steps))
    earlier_ending = next((ending for ending in trajectory.earlier if ending.attempt == number), None)
    if earlier_ending is None:
        return replace(episode, ending="", answer=None, scores=())
    return replace(
        episode,
        ending=earlier_ending.ending,
        answer=earlier_ending.answer,
        scores=read_stored_scores(earlier_ending.scores),
    )
