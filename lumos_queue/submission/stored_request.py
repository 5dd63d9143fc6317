"""The options of a stored request. Changed options make a new request, which is checked as any other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace

from db.kinds.job_kinds import RUNS, JobKind
from db.queries.damage import DamagedJob
from db.queue.endings import STORED
from db.queue.stored_jobs import StoredJob
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Role
from lumos_queue.submission.agent_settings import SAMPLED, is_own, list_settings, split_settings
from lumos_queue.submission.agents import ROLE_OPTIONS, parse_pairs, setting_roles
from lumos_queue.submission.job_request import SAME_IN_JOB, Basis, read_texts
from lumos_queue.submission.request_options import replace_fields
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.role_samplings import COMMON, find_sampling, find_stored_stop, sample_roles

#: Other kinds of jobs to their commands.
_COMMANDS: dict[str, str] = {JobKind.CONVERT: "lumos convert … --again", JobKind.TRAIN: "lumos train … --again"}


#: Fields of a request whose stored value is combined with a change. A change of any other field replaces its value.
_COMBINED = frozenset(
    ("formulation", "agent", *ROLE_OPTIONS, "roles", "tools", "settings", "samplings", "stop", "system", "prompt")
) | {"request"}


def check_kind(job: StoredJob, command: str) -> None:
    """Raises SpecError unless `job` is an evaluation or inference that was run, not imported."""
    if job.origin in STORED:
        raise SpecError(
            f"The episodes of job {job.id} are {job.origin}: lumos {command} is only for jobs that were run."
        )
    if job.kind not in RUNS:
        if job.kind not in _COMMANDS:
            raise DamagedJob(job.id, f"its kind is '{job.kind[:40]}'")
        raise SpecError(
            f"Job {job.id} is a job of the kind {job.kind}: lumos {command} is for evaluate and infer. Give its own "
            f"command again: {_COMMANDS[job.kind]}"
        )


def infer_of(job: StoredJob) -> Infer:
    """Return the inference request of a stored job. Raises SpecError for a damaged one."""
    request = read_job(job.kind, job.spec)
    inference = request.infer if isinstance(request, Evaluate) else request
    assert isinstance(inference, Infer)
    return inference


def change_request(infer: Infer, changes: InferenceRequest, names: Collection[str]) -> tuple[InferenceRequest, Basis]:
    """Return the request of a stored inference with changes, on its stored dataset (`data` is None).

    `names` are the fields of `changes` that are changed.

    If the formulation changes, options that the new formulation does not take are dropped: settings, limits, endpoints
    of roles, system message and template; the number of demonstrations becomes the default. An unchanged formulation
    keeps the version of the stored job.
    """
    changes = read_texts(changes)
    former = FORMULATIONS.load(infer.formulation)
    formulation = FORMULATIONS.load(changes.formulation) if changes.formulation else former
    agent, domain = infer.agent, DOMAINS.load(infer.agent.domain)
    same = formulation.name == former.name
    tools = (_tool_options(agent) if formulation.executes else {}) | parse_pairs("--tool", changes.tools)
    new_addresses = {role: url for role in ROLE_OPTIONS if (url := getattr(changes, role))}
    stored_addresses = {} if changes.agent else {role: url for role, url in agent.roles.items() if role in ROLE_OPTIONS}
    addresses = {
        role: url for role, url in stored_addresses.items() if same or role in formulation.roles
    } | new_addresses
    tool_roles = domain.roles(tools) if formulation.executes else ()
    possible = {*formulation.roles, *tool_roles, Role.JUDGE}
    # The changed settings and options name their models anew.
    named_roles = {*setting_roles(former, agent.settings), *domain.model_addresses(agent.tools)}
    other_addresses = {
        role: url
        for role, url in agent.roles.items()
        if role not in ROLE_OPTIONS and role not in named_roles and (same or role in possible)
    }
    other_addresses |= parse_pairs("--role", changes.roles)
    limits, own_settings = split_settings(formulation, changes.settings)
    limits, own_settings = (
        _retain_limits(agent, former, formulation) | limits,
        _retain_settings(agent, formulation) | own_settings,
    )
    roles = set(agent.roles) if same else possible
    overrides = frozenset(names) & frozenset(COMMON)
    fields = {role: fields for role in roles & set(agent.roles) if (fields := find_sampling(agent, role).request)}
    stop = (
        find_stored_stop(agent, infer.formulation, infer.formulation_version) if changes.stop is None else changes.stop
    )
    samplings = _retain_samplings(infer, roles, overrides) | parse_pairs("--sampling", changes.samplings)
    is_instructed, has_template = formulation.instructed, formulation.instructed or formulation.templated
    benchmark = infer.open_benchmark()
    concludes = formulation.limited and benchmark.by_answer
    stored = InferenceRequest(**{name: getattr(infer, name) for name in SAME_IN_JOB})
    request = replace(
        stored,
        formulation=formulation.name,
        agent=changes.agent,
        planner=addresses.get(Role.PLANNER, ""),
        grounder=addresses.get(Role.GROUNDER, ""),
        solver=addresses.get(Role.SOLVER, ""),
        max_subgoals=agent.max_subgoals,
        framing=agent.framing,
        roles=_pairs(other_addresses),
        tools=_pairs(tools),
        shots=agent.shots if same else None,
        answer_by=("last" if agent.answer_by == "last" else "qa") if domain.concludes_by_qa else "",
        replay=infer.replay,
        sets=infer.sets if infer.draw else 0,
        at_limit=agent.at_limit if concludes else "",
        settings=(*_pairs(limits), *_pairs(own_settings)),
        samplings=_pairs(samplings),
        yes=infer.approve_all and formulation.approved,
        stop=stop,
        system=changes.system if changes.system is not None or not is_instructed else agent.system,
        prompt=changes.prompt if changes.prompt is not None else agent.prompt if has_template else "",
        request=tuple(replace_fields(fields, changes.request)),
        reader=agent.reader if formulation.phrase else "",
        price_prompt=infer.prompt_price,
        price_completion=infer.completion_price,
    )
    sampling = Sampling(agent.sampling.temperature, agent.sampling.top_p, agent.sampling.max_tokens)
    basis = Basis(infer.definition, sampling, VERSION if changes.formulation else infer.formulation_version)
    return replace(request, **{name: getattr(changes, name) for name in names if name not in _COMBINED}), basis


def _tool_options(agent: Agent) -> dict[str, str]:
    """Return the options of an agent's actions, without those that their preparation added."""
    prepared_endings = ("_sha256", "_warning")
    return {
        name: value
        for name, value in agent.tools.items()
        if not name.endswith(prepared_endings) and not name.startswith("catalogue_")
    }


def _retain_limits(agent: Agent, former: Formulation, formulation: Formulation) -> dict[str, str]:
    """Return the values of `--setting` for limits that a person changed and the new formulation has."""
    possible, default = list_settings(formulation), asdict(former.limits)
    limits = {name: str(value) for name, value in asdict(agent.limits).items() if value != default[name]}
    return {name: value for name, value in limits.items() if name in possible and not is_own(formulation, name, value)}


def _retain_settings(agent: Agent, formulation: Formulation) -> dict[str, str]:
    """Return the values of `--setting` for the agent's settings that the formulation has."""
    return {name: value for name, value in agent.settings.items() if is_own(formulation, name, value)}


def _retain_samplings(infer: Infer, roles: Collection[str], overrides: Collection[str]) -> dict[str, str]:
    """Return the `--sampling` pairs of `roles` that address, formulation and common sampling do not imply.

    `overrides` names the common values that are set anew for all models; pairs that only repeat them are dropped.
    """
    agent = infer.agent
    pairs: dict[str, str] = {}
    implied_agent = sample_roles(replace(agent, samplings={}), infer.formulation, version=infer.formulation_version)
    for role, sampling in agent.samplings.items():
        if role not in roles:
            continue
        implied_sampling = find_sampling(implied_agent, role)
        names = [name for name in SAMPLED if getattr(sampling, name) != getattr(implied_sampling, name)]
        if role in implied_agent.samplings:
            names = [name for name in names if name not in overrides or not _is_common(agent, role, name)]
        elif not names and (sampling.stop, sampling.request) == (implied_sampling.stop, implied_sampling.request):
            names = ["temperature"]  # the values are the common ones, but the agent names this role
        pairs |= {f"{role}.{name}": str(getattr(sampling, name)) for name in names}
    return pairs


def _is_common(agent: Agent, role: str, name: str) -> bool:
    return getattr(agent.samplings[role], name) == getattr(agent.sampling, name)


def _pairs(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in values.items())
