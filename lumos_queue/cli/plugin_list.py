"""The installed plug-ins: the objects that they provide, the versions of their code, and their problems."""

from __future__ import annotations

from typing import Any

from lumos_queue.actions.ranking.registry import RANKERS
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.cli import output
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.registry import SCHEME, SCHEMES
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.review.scorers.registry import SCORERS
from lumos_queue.training.recipes.registry import RECIPES
from lumos_queue.util.plugins import entry_points_of
from lumos_queue.util.registry import Registry

REGISTRIES: dict[str, Registry] = {
    "benchmarks": BENCHMARKS,
    "formulations": FORMULATIONS,
    "domains": DOMAINS,
    "endpoints": SCHEMES,
    "recipes": RECIPES,
    "rankers": RANKERS,
    "scorers": SCORERS,
}


def list_plugins() -> list[dict[str, Any]]:
    """Return group, name, distribution, version, digest and problem ('' for none) of each entry point."""
    plugins = []
    for group, registry in REGISTRIES.items():
        for name, points in sorted(entry_points_of(group).items()):
            code = {"distribution": "", "version": "", "digest": ""}
            if points[0].dist:
                code |= {"distribution": points[0].dist.name, "version": points[0].dist.version}
            problem = ""
            if registry.is_built_in(name):
                problem = f"the name '{name}' is built in, and means the built-in object: give it another one"
            elif group == "endpoints" and not SCHEME.fullmatch(name):
                problem = f"no address can begin with '{name}': expected letters, digits, + - and ."
            else:
                try:
                    plugin = registry.plugin(name)
                    assert plugin is not None
                    code["digest"] = plugin.digest
                except SpecError as error:
                    problem = str(error)
            plugins.append({"group": group, "name": name, **code, "problem": problem})
    return plugins


def print_plugins(plugins: list[dict[str, Any]]) -> None:
    if not plugins:
        output.show("no plug-in is installed (docs/plugins.md says how to write one)")
        return
    width = max(len(f"{plugin['group']} {plugin['name']}") for plugin in plugins)
    for plugin in plugins:
        code = f"{plugin['distribution']} {plugin['version']}".strip()
        output.show(
            f"{plugin['group'] + ' ' + plugin['name']:<{width}}  {code}  {plugin['problem'] or plugin['digest']}"
        )
