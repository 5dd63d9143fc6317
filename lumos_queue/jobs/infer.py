"""Inference: one formulation tried on every task, with its answers and endings kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from lumos_queue.actions.registry import open_interface
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.base import Endpoint
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import Formulation, Journal, run_episode
from lumos_queue.execution.executor import Performer
from lumos_queue.execution.prefill import Given
from lumos_queue.execution.tools.opening import open_caller
from lumos_queue.formulations.registry import UNEXECUTED, VERSION, formulation
from lumos_queue.jobs.base import Result, Work
from lumos_queue.jobs.images import Images
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task


@dataclass(frozen=True, slots=True)
class Context:
    """What a slice of inference works with."""

    performer: Performer
    identities: tuple[tuple[str, str, dict[str, Any]], ...]  #: role, URL, what the server says it is
    traffic: dict[str, AdmissionControl]  #: of the endpoints that can have a cap, by URL


@dataclass(frozen=True, slots=True)
class Infer:
    """Try `formulation` with `agent` on the tasks of a dataset, `samples` times each."""

    benchmark: str
    dataset: str  #: digest of the rows
    split: str
    formulation: str
    agent: Agent
    limit: int = 0  #: only the first rows; 0: all
    samples: int = 1
    seed: int = 0
    live: bool = False  #: whether tools outside may be called
    replay: str = ""  #: the job whose recorded tool calls answer instead
    draw: int = 0  #: tasks drawn into each sample set; 0: no sample sets, all tasks
    sets: int = 1  #: sample sets
    formulation_version: int = VERSION  #: (formulations/registry.py)

    kind = "infer"
    pool = "llm"
    ordered = False
    concurrency = 0

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.formulation_version == 1:
            del values["formulation_version"]  # which jobs of that version do not name
        return {**values, "agent": self.agent.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Infer:
        """A job that names no version of its formulation was made before there was a second one."""
        return cls(**{"formulation_version": 1, **value, "agent": Agent.from_json(value["agent"])})

    def heads(self) -> dict[str, str]:
        return self.agent.dialogue(Task(self.benchmark, self.dataset, "", "")).heads

    @asynccontextmanager
    async def open(self, settings: Any) -> AsyncIterator[Context]:
        async with AsyncExitStack() as stack:
            opened: dict[str, Endpoint] = {}
            identities = []
            for role, url in self.agent.roles.items():
                if url not in opened:
                    opened[url] = open_endpoint(url, settings)
                    stack.push_async_callback(opened[url].close)
                identities.append((role, url, await opened[url].identity()))
            actions = None
            if self.formulation not in UNEXECUTED:
                actions = open_interface(self.agent.domain, self.agent.tools, settings)
                stack.push_async_callback(actions.close)
            caller = open_caller(self.live, self.replay, settings)
            stack.push_async_callback(caller.close)
            images = stack.enter_context(Images.opened(settings))
            by_role = {role: opened[url] for role, url in self.agent.roles.items()}
            traffic = {url: one.admission for url, one in opened.items() if one.admission}
            performer = Performer(by_role, actions, self.agent.sampling, self.seed, caller, images.load)
            yield Context(performer, tuple(identities), traffic)

    async def run(
        self, work: Work, journal: Journal, context: Context,
        around: Callable[[Formulation], Formulation] = lambda formulation: formulation,
    ) -> Result:  # fmt: skip
        """`around` may watch the formulation and add to it, as an evaluation does."""
        assert work.task is not None
        generate = around(formulation(self.formulation, self.formulation_version))
        async with context.performer.of_episode(work.task, work.sample) as perform:
            if "given" in work.task.inputs:
                given = Given(work.task.inputs)
                perform, generate = given.before(perform), given.watch(generate)
            outcome = await run_episode(generate, work.task, self.agent, journal, perform)
        return Result(outcome)
