"""Carry commands out for real: ask endpoints, run actions. What run_episode calls for anything not yet recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lumos_queue.actions.base import ActionInterface
from lumos_queue.commands import Ask, Command, Do, Result, digest
from lumos_queue.endpoints.base import Endpoint, Sampling
from lumos_queue.episode import Perform, Variables
from lumos_queue.records import Task


@dataclass(frozen=True, slots=True)
class Performer:
    """Endpoints by role, one action interface, and how to sample. Serves every episode of a job."""

    endpoints: Mapping[str, Endpoint]
    actions: ActionInterface
    sampling: Sampling
    seed: int  #: of the job

    def of_episode(self, task: Task, sample: int) -> Perform:
        """The function that performs one episode's commands."""
        episode = f"{task.dataset} {task.row} {sample}"

        async def perform(command: Command, position: int, branch: int, variables: Variables) -> Result:
            if isinstance(command, Ask):
                seed = draw(self.seed, task, sample, position, branch)
                return await self.endpoints[command.role].generate(command.prompt, self.sampling, seed, episode)
            if isinstance(command, Do):
                return await self.actions.execute(command.action, variables)
            return None

        return perform


def draw(seed: int, task: Task, sample: int, position: int, branch: int) -> int:
    """A 31-bit random value that depends on where in which episode it is drawn, and on nothing else."""
    place = digest(str(seed), task.dataset, task.row, str(sample), f"{position}.{branch}")
    return int(place[:8], 16) & 0x7FFFFFFF
