"""The plug-ins of a job: its submission lists them, and a worker compares them with its own before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from db.kinds.job_kinds import JobKind
from db.queue.stored_jobs import StoredJob
from lumos_queue.actions.ranking.registry import RANKERS, split_ranker
from lumos_queue.benchmarks.registry import BENCHMARKS, definition_of, find_registered_name
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.registry import plugin_of
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.training.recipes.registry import RECIPES
from lumos_queue.util.plugins import Plugin, entry_points_of, is_dotted


def find_plugins(kind: str, spec: dict[str, Any]) -> list[Plugin]:
    """Return this process's plug-ins that a stored request names, sorted by group and name.

    Raises SpecError for a plug-in that is missing, or that this process may not import.
    """
    if kind == JobKind.TRAIN:
        plugins = [RECIPES.plugin(spec.get("recipe", ""))]
    else:
        plugins = list(_of_episodes(kind, spec.get("infer", spec)))
    plugins_by_key = {(plugin.group, plugin.name): plugin for plugin in plugins if plugin is not None}
    return [plugins_by_key[key] for key in sorted(plugins_by_key)]


def _of_episodes(kind: str, request: dict[str, Any]) -> Iterator[Plugin | None]:
    name = request.get("source") if kind == JobKind.CONVERT else request.get("benchmark")
    if name and definition_of(request) is None:
        name = find_registered_name(name)
        yield BENCHMARKS.plugin(name)
        if not BENCHMARKS.is_built_in(name):
            yield DOMAINS.plugin(BENCHMARKS.load(name).domain)
    if request.get("formulation"):
        yield FORMULATIONS.plugin(request["formulation"])
    agent: dict[str, Any] = request.get("agent") or {}
    if agent.get("domain"):
        yield DOMAINS.plugin(agent["domain"])
    roles: dict[str, str] = agent.get("roles", {})
    for url in (*roles.values(), request.get("teacher")):
        if url:
            yield plugin_of(url)
    tools: dict[str, Any] = agent.get("tools", {})
    if ranker := tools.get("ranker"):
        yield RANKERS.plugin(split_ranker(ranker)[0])


def plugins_of(job: StoredJob) -> list[Plugin]:
    """Return the plug-ins of this process that a stored job needs, even if their code differs from the job's.

    Raises SpecError for a missing plug-in.
    """
    required_plugins = map(Plugin.from_json, job.plugins or ())
    if missing_plugins := [plugin for plugin in required_plugins if not _is_here(plugin)]:
        names = ", ".join(f"{plugin.name} ({plugin.group})" for plugin in missing_plugins)
        raise SpecError(
            f"Not installed here: {names} of {missing_plugins[0]}. Install it, and start this process again."
        )
    return find_plugins(job.kind, job.spec)


def check_plugins(
    job: StoredJob, remedy: str = "accept the installed code: lumos resume {job} --accept-plugin"
) -> None:
    """Raise SpecError unless this process has the same plug-ins as those with which a job was submitted.

    Jobs of earlier versions name no plug-ins; for them it is enough that the plug-ins exist. `remedy`: what a person
    can do instead of installing the same plug-in.
    """
    local_plugins = plugins_of(job)
    job_plugins = {(plugin.group, plugin.name): plugin for plugin in map(Plugin.from_json, job.plugins or ())}
    for local in local_plugins if job.plugins is not None else ():
        original = job_plugins.get((local.group, local.name))
        if original != local:
            raise SpecError(
                f"The plug-in '{local.name}' ({local.group}) is {local} here, and {original or 'not named'} in job "
                f"{job.id}: install the job's code and start this process again, or {remedy.format(job=job.id)}"
            )


def _is_here(plugin: Plugin) -> bool:
    """Whether a plug-in of that name exists, with any code. True for a dotted name, which its registry checks later."""
    return is_dotted(plugin.name) or plugin.name in entry_points_of(plugin.group)


def plugins_as_json(plugins: Sequence[Plugin]) -> list[dict[str, str]]:
    return [plugin.as_json() for plugin in plugins]
