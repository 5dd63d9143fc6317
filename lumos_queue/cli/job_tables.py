"""Print a job as text: its settings, state and endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.endpoints.base import Sampling
from lumos_queue.reports.agent_requests import describe_requests
from lumos_queue.reports.completeness import stop_reason
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.scoring.annotation_strata import rule_version_of
from lumos_queue.util.plugins import Plugin
from lumos_queue.util.wording import plural

_DIGEST = re.compile(r"[0-9a-f]{40,}")
#: Columns of a job about its request and its state.
SETTINGS = (
    "name",
    "kind",
    "benchmark",
    "split",
    "formulation",
    "state",
    "waiting",
    "submitted_by",
    "project",
    "digest",
    "dataset",
    "agent",
    "code_version",
    "parent",
    "chosen",
)


def print_job(job: dict[str, Any]) -> None:
    """Print a job: its request, its state and its endpoints."""
    console = output.console()
    grid = Table.grid(padding=(0, 2))
    for name in ("job", *SETTINGS):
        if job[name]:
            is_stopped = name == "waiting" and stop_reason(job["state"], job["waiting"])
            grid.add_row(
                f"[dim]{'reason' if is_stopped else name.replace('_', ' ')}[/]", escape(_shorten(str(job[name])))
            )
        if name == "name" and job["tags"]:
            grid.add_row("[dim]tags[/]", escape("  ".join(f"{key}={value}" for key, value in job["tags"].items())))
        if name == "state" and job["real_state"] != job["state"]:
            grid.add_row("", escape(job["real_state"]))
    for name, line in _describe_request(job["spec"]):
        grid.add_row(f"[dim]{name}[/]", escape(line))
    grid.add_row("[dim]items[/]", "  ".join(f"{state} {count:,}" for state, count in sorted(job["items"].items())))
    for plugin in job["plugins"] or ():
        grid.add_row("[dim]plug-in[/]", escape(f"{plugin['name']} ({plugin['group']})  {Plugin.from_json(plugin)}"))
    if len(job["code_versions"]) > 1:
        grid.add_row("[dim]episodes by code[/]", _format_versions(job["code_versions"]))
    for endpoint in job["endpoints"]:
        text = ", ".join(
            f"{key.replace('_', ' ')} {_shorten(str(value))}" for key, value in endpoint["identity"].items()
        )
        grid.add_row(f"[dim]{endpoint['role']}[/]", escape(f"{endpoint['url']}  {text}"))
    if text := remark_on_choice(job["parent"], job["chosen"], job["benchmark"]):
        grid.add_row("[dim]note[/]", escape(text))
    for problem in job["problems"]:
        grid.add_row("[dim]failing[/]", escape(f"{plural(problem['items'], 'item')}: {problem['problem']}"))
    console.print(grid)


def _format_versions(versions: list[dict[str, Any]]) -> str:
    """Return each version of the code with its number of episodes."""
    return "\n".join(escape(f"{version['code_version']}: {version['episodes']:,}") for version in versions)


def _shorten(text: str) -> str:
    """Return the first 12 characters of a digest, which other commands accept; return any other text unchanged."""
    return f"{text[:12]}…" if _DIGEST.fullmatch(text) else text


def _describe_own_file(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of the settings that a stored definition has for a person's own file."""
    for name in ("scorer", "domain", "licence"):
        if definition.get(name):
            yield name, str(definition[name])
    if isinstance(fields := definition.get("fields"), Mapping):
        columns = ((name, ", ".join(value) if isinstance(value, list) else value) for name, value in fields.items())
        yield "fields", "  ".join(f"{name}={value}" for name, value in columns if value)


def _format_sampling(sampling: Mapping[str, Any]) -> str:
    names = ("temperature", "top_p", "max_tokens", "beams", "epsilon")  # the last two are optional
    return ", ".join(f"{name} {sampling[name]}" for name in names if name in sampling)


def _describe_request(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of the settings that only some jobs have.

    A training job has its recipe and folders; an agent has limits, settings, samplings and fields of requests.
    """
    request = spec.get("evaluation") or spec.get("infer", spec)
    if spec.get("recipe"):
        yield "recipe", spec["recipe"]
    if spec.get("evaluation"):  # it learns from rollouts
        source = f"{request['benchmark']}, {request['formulation']}"
        yield (
            "learns",
            f"{', '.join(spec['roles'])}, from '{spec['reward']}' of {len(spec['rows']):,} tasks of {source}",
        )
    for name in ("start", "folder"):
        if spec.get("recipe") and spec.get(name):
            yield name, str(spec[name])
    definition = request.get("definition")
    if isinstance(definition, Mapping):
        yield from _describe_own_file(definition)
    if "most_tokens" in spec:  # a conversion
        yield "rules", f"version {rule_version_of(spec)}"
        if spec.get("samples", 1) != 1:
            yield "samples", f"up to {spec['samples']} for each row"
    agent = request.get("agent")
    if not isinstance(agent, Mapping):
        return
    for name in ("limits", "settings"):
        if agent.get(name):
            yield name, "  ".join(f"{key}={value}" for key, value in agent[name].items())
    if (sampling := _format_sampling(agent.get("sampling", {}))) not in ("", _format_sampling(Sampling().as_json())):
        yield "sampling", sampling
    for role, sampling in agent.get("samplings", {}).items():
        yield f"sampling of {role}", _format_sampling(sampling)
    yield from describe_requests(agent, request.get("formulation", "")).items()
