"""A job in words, for Flower and for the results of Celery tasks: benchmark, formulation, models, name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.util.display import one_line

MAX_NAME, MAX_MODELS, MAX_TEXT = 60, 160, 400  #: characters shown of what users and servers have written


def describe_job(row: Any) -> str:
    """`row`: a job's, or anything with its columns kind, benchmark, formulation, name and spec. One harmless line."""
    asked = row.spec.get("evaluation") or row.spec.get("infer", row.spec)
    what = [row.benchmark, row.formulation] if row.kind in ("evaluate", "infer") else [row.kind, row.benchmark]
    if row.kind == "train":
        what.append(str(row.spec.get("recipe", "")))
    models = describe_models(asked)
    named = f'"{shorten(row.name, MAX_NAME)}" ' if row.name else ""
    return named + shorten(" ".join(filter(None, what)) + (f", {models}" if models else ""), MAX_TEXT)


def describe_models(asked: Mapping[str, Any]) -> str:
    """Each endpoint of a stored agent once, after the roles that it has: `planner tgi://a:1, grounder tgi://b:2`."""
    agent = asked.get("agent")
    roles = agent.get("roles", {}) if isinstance(agent, Mapping) else {}
    if not roles and asked.get("teacher"):
        roles = {"teacher": asked["teacher"]}
    urls: dict[str, list[str]] = {}
    for role, url in roles.items():
        urls.setdefault(str(url), []).append(str(role))
    return shorten(", ".join(f"{'/'.join(names)} {url}" for url, names in urls.items()), MAX_MODELS)


def shorten(text: str, characters: int) -> str:
    """The text as one harmless line of at most so many characters."""
    line = " ".join(one_line(text[: 4 * characters]).split())
    return line if len(line) <= characters and len(text) <= 4 * characters else line[: characters - 1] + "…"
