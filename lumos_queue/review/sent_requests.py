"""Rebuild the request of each model call of an episode from stored data, by the code that sends requests.

The functions that a model may call and the constraint on its reply are not stored, because they follow from the task.
To find them, the formulation runs again on the recorded results until a command differs from the recorded command. A
plug-in's formulation does not run again, so the requests of its calls do not have these fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from db.engine.connection import Connection
from db.journal.step_records import RecordedStep
from db.queries.job_endpoints import endpoints_of
from db.queries.trajectory import Trajectory
from lumos_queue.commands import KEPT_DIGITS, Ask, Command
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import SCHEMES
from lumos_queue.endpoints.request_bodies import SentRequest, split_body, write_sampling
from lumos_queue.endpoints.urls import model_name, scheme_of
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.execution.executor import Executor, read_images
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.records import Completion, FinishReason, Role, Task
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.reports.trajectory import name_step
from lumos_queue.util.exchange import Exchange

Place = tuple[int, int]  #: position and branch of a step


@dataclass(frozen=True, slots=True)
class _Callers:
    """The roles of an episode with their endpoints, and what is known about their calls."""

    roles: Mapping[str, str]  #: URL by role
    executor: Executor  #: has no endpoints; it has the sampling of each call
    asks: Mapping[Place, Ask] = field(default_factory=dict)  #: the known commands of a built-in formulation


def add_requests(connection: Connection, trajectory: Trajectory, episode: EpisodeReport) -> EpisodeReport:
    """Return the episode of a trajectory with the `request` of each model call for which a request was sent.

    A request has `url`, the role's address; `messages` (for chat://) or `text`, which the model was sent, without the
    bytes of images; `functions` that the model may call, if any; and `fields`, the other fields by their names in the
    protocol.
    """
    requests = read_requests(connection, trajectory)
    return replace(episode, steps=[replace(step, request=requests.get(step.at)) for step in episode.steps])


def read_requests(connection: Connection, trajectory: Trajectory) -> dict[str, dict[str, Any]]:
    """Return the requests of an episode's model calls by the names of the steps.

    There is no request for a reply that came with the task, for a role that the stored job does not name, and for a
    stored job that cannot be read.
    """
    try:
        callers = _find_callers(trajectory)
    except SpecError:
        return {}
    identities = {(row.role, row.url): row.identity for row in endpoints_of(connection, trajectory.job.id)}
    requests: dict[str, dict[str, Any]] = {}
    for step in trajectory.steps:
        url = callers.roles.get(step.role)
        if url is None or not isinstance(step.result, Completion) or step.result.finish_reason == FinishReason.GIVEN:
            continue
        call = _make_call(step, callers, trajectory.task, trajectory.episode.sample)
        image_urls = [f"sha256:{digest}" for digest in read_images(step.result.note)]
        request = _write_request(url, call, image_urls, identities.get((step.role, url), {}))
        if request is not None:
            requests[name_step(step.position, step.branch)] = {"url": url, **_as_json(request)}
    return requests


def _find_callers(trajectory: Trajectory) -> _Callers:
    """Return the callers of an episode. Raises SpecError for a stored job that cannot be read."""
    job = read_job(trajectory.job.kind, trajectory.job.spec)
    if isinstance(job, Convert):
        roles: dict[str, str] = {Role.TEACHER: job.teacher} if job.teacher else {}
        return _Callers(roles, Executor({}, None, job.sampling, job.seed, rules=job.rules))
    infer = job.infer if isinstance(job, Evaluate) else job
    if not isinstance(infer, Infer):
        return _Callers({}, Executor({}, None, Sampling(), 0))
    agent = infer.agent
    executor = Executor(
        {}, None, agent.sampling, infer.seed, samplings=agent.samplings, rules=infer.formulation_version
    )
    return _Callers(agent.roles, executor, _replay_asks(infer, trajectory.task, trajectory.steps))


def _replay_asks(infer: Infer, task: Task, steps: Sequence[RecordedStep]) -> dict[Place, Ask]:
    """Run a built-in formulation again, and return its asks up to the first command that differs from the record."""
    asks: dict[Place, Ask] = {}
    if not FORMULATIONS.is_built_in(infer.formulation):
        return asks
    recorded_steps = {(step.position, step.branch): step for step in steps}
    exchange = Exchange(infer.generator()(task.without_gold(), infer.agent))
    try:
        for position, batch in enumerate(exchange):
            commands: Sequence[Command] = batch if isinstance(batch, list) else [batch]
            results = []
            for branch, command in enumerate(commands):
                step = recorded_steps.get((position, branch))
                if step is None or step.command != command.digest[:KEPT_DIGITS]:
                    return asks
                if isinstance(command, Ask):
                    asks[position, branch] = command
                results.append(step.result)
            exchange.reply = results if isinstance(batch, list) else results[0]
    except (EpisodeError, SpecError):
        pass  # the episode ended in the same way
    return asks


def _make_call(step: RecordedStep, callers: _Callers, task: Task, sample: int) -> ModelCall:
    """Return the call of a step without episode and images: their bytes are not shown."""
    sampling, seed = callers.executor.sample_call(step.role, task, sample, step.position, step.branch)
    ask = callers.asks.get((step.position, step.branch))
    if ask is None:
        return ModelCall(step.prompt, sampling, seed)
    return ModelCall(step.prompt, sampling, seed, constraint=ask.constraint, functions=ask.functions)


def _write_request(
    url: str, call: ModelCall, image_urls: Sequence[str], identity: Mapping[str, Any]
) -> SentRequest | None:
    """Return the request of a call to the server with this identity; None if no such request can be written."""
    scheme = scheme_of(url)
    if not SCHEMES.is_built_in(scheme):  # code of a plug-in is not imported for display
        return split_body(write_sampling(call))
    owners = identity.get("owned_by", "")
    owners = [str(owner) for owner in (owners if isinstance(owners, list) else [owners])]
    try:
        return SCHEMES.load(scheme).write_request(call, image_urls, _find_model(url, identity), owners)
    except (EpisodeError, ValueError):
        return None


def _find_model(url: str, identity: Mapping[str, Any]) -> str:
    """Return the model's name in requests: the name in the address, or the name that the server reported."""
    url_name = model_name(url) if "://" in url else ""
    server_name = identity.get("model")
    return url_name or (server_name if isinstance(server_name, str) else "")


def _as_json(request: SentRequest) -> dict[str, Any]:
    body = {"text": request.text} if request.messages is None else {"messages": request.messages}
    return body | ({"functions": request.functions} if request.functions else {}) | {"fields": request.fields}
