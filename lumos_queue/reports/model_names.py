"""Short names of models for columns and charts, from an address and the model that the server there reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, urlsplit

from db.kinds.job_kinds import JobKind
from db.queue.stored_jobs import StoredJob
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.endpoints.urls import TRANSPORTS
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Role

#: Names of folders that do not identify a model: the name of the folder above is added.
_GENERIC = frozenset(
    [
        "export",
        "model",
        "models",
        "final",
        "best",
        "last",
        "latest",
        "checkpoint",
        "checkpoints",
        "out",
        *FORMULATIONS,
    ]
)
#: Instead of a model's name.
BY_RULE, FROM_SCRATCH = "by rule", "from scratch"

#: An endpoint's address, and the model that its server reported ('' where it is not known).
Model = tuple[str, str]


def models_of(job: StoredJob, served_models: Mapping[str, str] | None = None) -> dict[str, Model]:
    """Return the models of a job by role.

    They are the models of an agent without its tools and judges, the teacher of a conversion, or the model from which a
    training job starts. `served_models` are the models that servers reported, by address.
    """
    request = job.spec.get("infer", job.spec)
    agent = request.get("agent")
    roles = agent.get("roles", {}) if isinstance(agent, Mapping) else {}
    if job.kind == JobKind.CONVERT:
        roles = {Role.TEACHER: request.get("teacher") or BY_RULE}
    elif job.kind == JobKind.TRAIN:
        start = request.get("start") or request.get("base")
        roles = {"start": f"local:{start}" if start else FROM_SCRATCH}
    agents = {role: url for role, url in roles.items() if role not in TOOL_ROLES} or roles
    return {role: (url, (served_models or {}).get(url, "")) for role, url in agents.items()}


def name_models(models: Iterable[Model]) -> dict[Model, str]:
    """Return a name for each model, as short as possible without ambiguity."""
    unique_models = list(dict.fromkeys(models))
    candidates = {model: _names(*model) for model in unique_models}
    names = {}
    for model in unique_models:
        other_candidates = [candidates[other_model] for other_model in unique_models if other_model != model]
        clear = (
            name
            for name in candidates[model]
            if not any(name in candidate_names for candidate_names in other_candidates)
        )
        names[model] = next(clear, " ".join(filter(None, model[::-1])))
    return names


def _names(url: str, served_model: str) -> list[str]:
    """Return possible names of a model, the shortest first."""
    scheme, _, rest = url.partition(":")
    if scheme in ("local", "scripted"):
        path = PurePosixPath(rest).with_suffix("") if rest.endswith(".json") else PurePosixPath(rest)
        parts = [part for part in path.parts if part != "/"] or [rest]
        least = 2 if parts[-1].lower() in _GENERIC or parts[-1].isdigit() else 1
        return ["/".join(parts[-length:]) for length in range(min(least, len(parts)), len(parts) + 1)]
    if scheme not in TRANSPORTS:
        return [url]
    try:
        address = urlsplit(url)
    except ValueError:
        return [url]
    model_name = dict(parse_qsl(address.query)).get("model", "") or served_model
    hosts, _, other_hosts = address.netloc.partition(",")
    hosts += f" +{len(other_hosts.split(','))}" if other_hosts else ""
    if not model_name:
        return [hosts, address.netloc, url]
    path = model_name.rstrip("/")
    return [path.rsplit("/", 1)[-1] or path, path, f"{path} at {hosts}", f"{path} at {address.netloc}"]
