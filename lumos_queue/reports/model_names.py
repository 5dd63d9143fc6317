"""Short names of models, for columns and charts: from an address, and from what the server there says it serves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import Connection, select

from db.models import JobEndpoint
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.endpoints.urls import TRANSPORTS

#: Names of folders that say nothing of the model in them: the folder above is named, too.
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
        "iterative",
        "one-pass",
    ]
)
#: What stands in place of a model's name.
BY_RULE, FROM_SCRATCH = "by rule", "from scratch"

#: An endpoint's address, and the model that its server said it serves ('' where that is not known).
Model = tuple[str, str]


def models_of(job: Any, served_models: Mapping[str, str] | None = None) -> dict[str, Model]:
    """Role to model of a job's row: of an agent without its tools and judges, of a conversion the teacher, of a
    training job what it starts from."""
    request = job.spec.get("infer", job.spec)
    agent = request.get("agent")
    roles = agent.get("roles", {}) if isinstance(agent, Mapping) else {}
    if job.kind == "convert":
        roles = {"teacher": request.get("teacher") or BY_RULE}
    elif job.kind == "train":
        start = request.get("start") or request.get("base")
        roles = {"start": f"local:{start}" if start else FROM_SCRATCH}
    agents = {role: url for role, url in roles.items() if role not in TOOL_ROLES} or roles
    return {role: (url, (served_models or {}).get(url, "")) for role, url in agents.items()}


def models_told(connection: Connection, jobs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Job to address to the model that the server there last said it serves to that job."""
    query = select(JobEndpoint.job, JobEndpoint.url, JobEndpoint.identity).where(JobEndpoint.job.in_(jobs))
    served_models: dict[str, dict[str, str]] = {}
    for job, url, identity in connection.execute(query.order_by(JobEndpoint.id)):
        facts = identity if isinstance(identity, dict) else {}
        model_name = facts.get("model_id") or facts.get("model") or ""
        served_models.setdefault(job, {})[url] = (
            model_name if isinstance(model_name, str) else ""
        )  # replicas that differ say a list
    return served_models


def name_models(models: Iterable[Model]) -> dict[Model, str]:
    """A name for each of these models, as short as keeps different ones apart."""
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
    """Names for a model, the shortest first, the last ones longer and longer."""
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
