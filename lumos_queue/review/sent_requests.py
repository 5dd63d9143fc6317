"""What was sent for each model call of an episode, from what is stored: the code that sent it writes it once more.

Not stored are the functions that a model may call and the constraint of a reply. They follow from the task: the
formulation runs again on the recorded results, as far as its commands are the recorded ones. Formulations of plug-ins
are not run: of their calls these fields are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.reading import Trajectory, endpoints_of
from db.step_records import RecordedStep
from lumos_queue.commands import KEPT_DIGITS, Ask, Command
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import SCHEMES
from lumos_queue.endpoints.request_bodies import ModelCall, SentRequest, split_body, write_sampling
from lumos_queue.endpoints.urls import model_name, scheme_of
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.execution.executor import Executor, read_images
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.records import TEACHER, Completion, FinishReason, Task
from lumos_queue.reports.trajectory import name_step
from lumos_queue.util.exchange import Exchange

Place = tuple[int, int]  #: position and branch of a step


@dataclass(frozen=True, slots=True)
class _Callers:
    """Who asked which endpoint how, of one episode."""

    roles: Mapping[str, str]  #: role to address
    executor: Executor  #: without endpoints: it only says how a call is sampled
    asks: Mapping[Place, Ask] = field(default_factory=dict)  #: that a formulation yielded, as far as they are known


def add_requests(connection: Connection, trajectory: Trajectory, steps: Sequence[dict[str, Any]]) -> None:
    """Add to each model call among the steps of `trajectory_as_json` its `request`, where one was sent.

    `url` is the role's address; `messages` (chat:// alone) or `text` is what the model was sent, without the bytes of
    images; `functions` are those that it may call, where there are any; `fields` are all other fields, by their names
    in the protocol.
    """
    requests = read_requests(connection, trajectory)
    for step in steps:
        if step["at"] in requests:
            step["request"] = requests[step["at"]]


def read_requests(connection: Connection, trajectory: Trajectory) -> dict[str, dict[str, Any]]:
    """Return the request of each model call, by the name of its step.

    There is none for a reply that came with the task, for a role that the stored job does not name, and for a stored
    job that cannot be read.
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
        call = _make_call(step, step.result, callers, trajectory.task, trajectory.episode.sample)
        request = _write_request(url, call, identities.get((step.role, url), {}))
        if request is not None:
            requests[name_step(step.position, step.branch)] = {"url": url, **_as_json(request)}
    return requests


def _find_callers(trajectory: Trajectory) -> _Callers:
    """Raises SpecError for a stored job that cannot be read."""
    job = read_job(trajectory.job.kind, trajectory.job.spec)
    if isinstance(job, Convert):
        roles = {TEACHER: job.teacher} if job.teacher else {}
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
    """Return the asks of a built-in formulation whose digests are the recorded ones, up to the first other command."""
    asks: dict[Place, Ask] = {}
    if not FORMULATIONS.is_built_in(infer.formulation):
        return asks
    recorded = {(step.position, step.branch): step for step in steps}
    exchange = Exchange(infer.generator()(task.without_gold(), infer.agent))
    try:
        for position, yielded in enumerate(exchange):
            commands: Sequence[Command] = yielded if isinstance(yielded, list) else [yielded]
            results = []
            for branch, command in enumerate(commands):
                step = recorded.get((position, branch))
                if step is None or step.command != command.digest[:KEPT_DIGITS]:
                    return asks
                if isinstance(command, Ask):
                    asks[position, branch] = command
                results.append(step.result)
            exchange.reply = results if isinstance(yielded, list) else results[0]
    except (EpisodeError, SpecError):
        pass  # as the episode ended
    return asks


def _make_call(step: RecordedStep, done: Completion, callers: _Callers, task: Task, sample: int) -> ModelCall:
    sampling, seed = callers.executor.sample_call(step.role, task, sample, step.position, step.branch)
    images = tuple(f"sha256:{digest}" for digest in read_images(done.note))
    ask = callers.asks.get((step.position, step.branch))
    if ask is None:
        return ModelCall(step.prompt, sampling, seed, images)
    return ModelCall(step.prompt, sampling, seed, images, ask.constraint, ask.functions)


def _write_request(url: str, call: ModelCall, identity: Mapping[str, Any]) -> SentRequest | None:
    """Return what was sent to a model that its server called `identity`; None where it cannot have been sent."""
    scheme = scheme_of(url)
    if not SCHEMES.is_built_in(scheme):  # of a plug-in, which is not imported to be shown
        return split_body(write_sampling(call))
    owners = identity.get("owned_by", "")
    owners = [str(owner) for owner in (owners if isinstance(owners, list) else [owners])]
    try:
        return SCHEMES.load(scheme).write_request(call, _find_model(url, identity), owners)
    except (EpisodeError, ValueError):
        return None


def _find_model(url: str, identity: Mapping[str, Any]) -> str:
    """The model's name in requests: that of the address, or the one that the server said it has."""
    named = model_name(url) if "://" in url else ""
    stated = identity.get("model")
    return named or (stated if isinstance(stated, str) else "")


def _as_json(request: SentRequest) -> dict[str, Any]:
    sent = {"text": request.text} if request.messages is None else {"messages": request.messages}
    return sent | ({"functions": request.functions} if request.functions else {}) | {"fields": request.fields}
