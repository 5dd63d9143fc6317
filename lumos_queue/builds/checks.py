"""Check an annotation by running its actions: again as they are, or with other numbers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lumos_queue.actions.base import StatelessActions
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.conversion.perturbation import passes_perturbation
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.records import LEVELS, Annotation

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode


class ActionChecks:
    """Runs actions in its own event loop; call `close` at the end."""

    def __init__(self, sources: KnownBenchmarks):
        self._sources = sources
        self._loop = asyncio.Runner()
        self._interfaces: dict[str, StatelessActions | None] = {}

    def close(self) -> None:
        for interface in filter(None, self._interfaces.values()):
            self._loop.run(interface.close())
        self._loop.close()

    def check_same_results(self, _episode: StoredEpisode, domain: str, annotation: Annotation) -> str:
        """Check that every action gives the stored result again. Return '' when it does, else the reason.

        Raises InfrastructureError when the tools do not work.
        """
        interface = self._interface(domain)
        if interface is None:
            return "no tools here to run it again"
        return self._loop.run(_run_again(annotation, interface))

    def check_other_numbers(self, episode: StoredEpisode, domain: str, annotation: Annotation) -> str:
        """Check that the actions are also right with other numbers in the question. Return '' or the reason."""
        if episode.level == LEVELS[-1]:
            return ""
        source, interface = self._sources.to_teach(episode), self._interface(domain)
        if source is None or interface is None:
            return "no program to check it with other numbers"
        is_right = self._loop.run(passes_perturbation(source, episode.task, annotation, interface))
        return "" if is_right else "not right, or unknown, with other numbers"

    def _interface(self, domain: str) -> StatelessActions | None:
        if domain not in self._interfaces:
            try:
                self._interfaces[domain] = DOMAINS.load(domain).open_stateless()
            except SpecError:
                self._interfaces[domain] = None
        return self._interfaces[domain]


async def _run_again(annotation: Annotation, interface: StatelessActions) -> str:
    variables = {}
    for step in annotation.steps:
        for action, stated_result in zip(step.actions, step.results, strict=True):
            execution = await interface.execute(action, variables)
            if not execution.ok:
                return "an action fails when run again"
            if execution.result != stated_result:
                return "another result when run again"
            variables.update(zip(action.variables, execution.values, strict=False))
    return ""
