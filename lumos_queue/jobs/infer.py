"""Inference: run a formulation on every task, and store its answers and endings."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import FileDefinition
from lumos_queue.benchmarks.registry import BENCHMARKS, open_benchmark
from lumos_queue.commands import Commands
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.base import Endpoint
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import EpisodeRun, Generate, Journal, run_episode
from lumos_queue.errors import PluginFault
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.prefill import PrefilledReplies
from lumos_queue.execution.tools.callers import open_caller
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Identity, ItemResult, Work
from lumos_queue.jobs.budget import Meter
from lumos_queue.jobs.images import Images
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Outcome, Role, Task
from lumos_queue.util.runtime_types import has_type

UNSEEN = "--yes"  #: the approver of plans that no person saw


@dataclass(frozen=True, slots=True)
class InferContext:
    """The objects that a slice of inference needs."""

    executor: Executor
    identities: tuple[Identity, ...]
    traffic: dict[str, AdmissionControl]  #: of the endpoints that can have a cap, by URL
    images: Images | None = None
    meter: Meter | None = None  #: of a job with a budget


@dataclass(frozen=True, slots=True)
class Infer:
    """A job that runs `formulation` with `agent` on each task of a dataset, `samples` times."""

    benchmark: str
    dataset: str  #: digest of the rows
    split: str
    formulation: str
    agent: Agent
    limit: int = 0  #: only the first rows; 0: all
    samples: int = 1
    seed: int = 0
    live: bool = False  #: whether external tools may be called
    replay: str = ""  #: the job whose recorded tool calls answer instead
    draw: int = 0  #: tasks in each sample set; 0: no sample sets, all tasks
    sets: int = 1  #: sample sets
    approve_all: bool = False  #: whether all plans are approved without a person
    budget: float = 0.0  #: USD for all model calls of the job, after which it is paused; 0: no limit
    prompt_price: float = 0.0  #: USD for a million tokens, of every model
    completion_price: float = 0.0  #: USD for a million tokens, of every model
    formulation_version: int = VERSION
    published: bool = False  #: whether the person stated that the rows are the published rows
    definition: FileDefinition | None = None  #: of a benchmark whose rows are in a person's own file

    kind = JobKind.INFER
    pool = Pool.LLM
    ordered = False
    concurrency = 0

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.formulation_version == 1:
            del values["formulation_version"]  # jobs of that version have no such key
        for name in ("published", "approve_all", "budget", "prompt_price", "completion_price"):
            if not values[name]:  # so that the JSON of jobs from before this field stays the same
                del values[name]
        del values["definition"]
        definition = {"definition": self.definition.as_json()} if self.definition else {}
        return {**values, "agent": self.agent.as_json(), **definition}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Infer:
        """Read a stored job. If it names no version of its formulation, the version is 1."""
        values: dict[str, Any] = {"formulation_version": 1, **value, "agent": Agent.from_json(value["agent"])}
        if value.get("definition"):
            values["definition"] = FileDefinition.from_json(value["definition"])
        return cls(**values)

    def open_benchmark(self) -> Benchmark:
        """Return the benchmark of the job. Raises SpecError if this process does not have it."""
        return open_benchmark(self.benchmark, self.definition)

    def prompt_prefixes(self) -> dict[str, str]:
        return FORMULATIONS.load(self.formulation).prompt_prefixes(self._inform(self.agent))

    @asynccontextmanager
    async def open(self, deployment: Deployment) -> AsyncGenerator[InferContext, None]:
        async with AsyncExitStack() as stack:
            endpoints: dict[str, Endpoint] = {}
            identities: list[Identity] = []
            for role, url in self.agent.roles.items():
                if url not in endpoints:
                    endpoints[url] = open_endpoint(url, deployment.settings)
                    stack.push_async_callback(endpoints[url].close)
                identities.append((role, url, await endpoints[url].identity()))
            actions, formulation = None, FORMULATIONS.load(self.formulation)
            if formulation.executes:
                actions = DOMAINS.load(self.agent.domain).open_actions(self.agent.tools, deployment)
                stack.push_async_callback(actions.close)
            caller = open_caller(self.live, self.replay, deployment, self.agent.tools.get("server", ""))
            stack.push_async_callback(caller.close)
            images = Images(deployment)
            by_role = {role: endpoints[url] for role, url in self.agent.roles.items()}
            traffic = {url: endpoint.admission for url, endpoint in endpoints.items() if endpoint.admission}
            executor = Executor(
                by_role,
                actions,
                self.agent.sampling,
                self.seed,
                caller,
                images.load,
                self.agent.samplings,
                Role.JUDGE not in formulation.roles,
                UNSEEN if self.approve_all else "",
                self.formulation_version,
            )
            meter = None
            if self.budget:
                meter = Meter(deployment.database, self.prompt_price, self.completion_price, self.budget)
            yield InferContext(executor, tuple(identities), traffic, images, meter)

    def generator(self) -> Generate[Agent]:
        """Return the function that runs the formulation, in the job's version and within the agent's limits."""
        formulation = FORMULATIONS.load(self.formulation).at_version(self.formulation_version)

        def generate(task: Task, agent: Agent) -> Commands[Outcome]:
            return formulation(task, self._inform(agent))

        return generate if self.agent.limits == Limits() else limit_formulation(generate, self.agent.limits)

    def _inform(self, agent: Agent) -> Agent:
        """Return the agent with the kind of answers that the benchmark has."""
        benchmark = self.open_benchmark() if self.definition else BENCHMARKS.find(self.benchmark)
        return replace(agent, answers=benchmark.answers) if benchmark else agent

    async def run(self, work: Work, journal: Journal, context: InferContext) -> ItemResult:
        run = await self.run_formulation(self.generator(), work, journal, context)
        return ItemResult(run.outcome)

    async def run_formulation(
        self, formulation: Generate[Agent], work: Work, journal: Journal, context: InferContext
    ) -> EpisodeRun:
        """Run `formulation` on an item's task. It is the job's formulation, to which steps may have been added."""
        assert work.task is not None
        async with context.executor.for_episode(work.task, work.sample) as perform:
            if context.meter:
                perform = context.meter.limit(perform, getattr(journal, "episode", 0))
            if "given" in work.task.inputs:
                replies = PrefilledReplies(work.task.inputs)
                perform, formulation = replies.prefill(perform), replies.watch(formulation)
            run = await run_episode(formulation, work.task, self.agent, journal, perform)
        if not has_type(run.outcome, Outcome):
            raise PluginFault(
                f"the formulation '{self.formulation}' ends with {run.outcome!r:.80}: expected an lq.Outcome"
            )
        return run
