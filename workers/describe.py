"""Describe a job for Flower and for the results of Celery tasks: benchmark, formulation, models, name."""

from __future__ import annotations

from collections.abc import Mapping

from db.engine.json_columns import is_object
from db.kinds.job_kinds import RUNS, JobKind
from db.queue.stored_jobs import StoredJob
from lumos_queue.util.display import one_line

MAX_NAME, MAX_MODELS, MAX_TEXT = 60, 160, 400  #: characters of text from users and servers


def describe_job(row: StoredJob) -> str:
    """Return one harmless line about a job."""
    words = [row.benchmark, row.formulation] if row.kind in RUNS else [row.kind, row.benchmark]
    if row.kind == JobKind.TRAIN:
        words.append(str(row.spec.get("recipe", "")))
    if row.name:
        words.append(f'"{shorten(row.name, MAX_NAME)}"')
    return shorten(", ".join(filter(None, (" ".join(filter(None, words)), describe_models(row.spec)))), MAX_TEXT)


def describe_models(spec: Mapping[str, object]) -> str:
    """Return each endpoint of a stored job once, after its roles: `planner tgi://a:1, grounder tgi://b:2`."""
    urls: dict[str, list[str]] = {}
    for role, url in roles_of(spec).items():
        urls.setdefault(url, []).append(role)
    return shorten(", ".join(f"{'/'.join(names)} {url}" for url, names in urls.items()), MAX_MODELS)


def roles_of(spec: Mapping[str, object]) -> dict[str, str]:
    """Return the endpoint of each role of a stored job; of a training, an empty dictionary."""
    request = spec.get("evaluation") or spec.get("infer", spec)
    if not is_object(request):
        return {}
    if is_object(agent := request.get("agent")):
        roles = agent.get("roles")
        return {role: str(url) for role, url in roles.items()} if is_object(roles) else {}
    return {"teacher": str(request["teacher"])} if request.get("teacher") else {}


def shorten(text: str, characters: int) -> str:
    """Return the text as one harmless line of at most this many characters."""
    line = " ".join(one_line(text[: 4 * characters]).split())
    return line if len(line) <= characters and len(text) <= 4 * characters else line[: characters - 1] + "…"
