"""Tasks of OpenAGI with generated inputs, and episodes of model synthesis on them without a database."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec
from lumos_queue.commands import Step
from lumos_queue.endpoints.base import Endpoint, ImagePart, ModelCall, Sampling
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.experts.base import Kind
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Ending, FinishReason, Task

SOURCES = {
    "Image Captioning": "captions",
    "Image Classification": "labels",
    "Object Detection": "objects",
    "Text to Image Generation": "captions",
    "Text Summarization": "documents",
    "Machine Translation": "captions",
    "Sentiment Analysis": "sentiments",
    "Visual Question Answering": "signs",
    "Question Answering": "passages",
    "": "labels",
}


def source_of(spec: TaskSpec) -> str:
    return SOURCES[spec.goal.expert]


def make_task(spec: TaskSpec, samples: Sequence[int] = (0, 1), split: str = "test") -> tuple[Task, dict[str, bytes]]:
    """A task and the artifacts that its inputs name."""
    source = source_of(spec)
    artifacts: dict[str, bytes] = {}
    channels, sources = [], []
    for channel in spec.channels:
        values = []
        for number in samples:
            data = load_input(source, split, number, channel.slot.name, channel.augmentations, "released")
            values.append(_keep(artifacts, data) if channel.slot.kind is Kind.IMAGE else data.decode())
        channels.append({"name": channel.slot.name, "kind": str(channel.slot.kind), "values": values})
        sources.append(
            {
                "channel": channel.slot.name,
                "source": source,
                "split": split,
                "samples": list(samples),
                "augmentations": list(channel.augmentations),
                "profile": "released",
            }
        )
    inputs = {"channels": channels, "output": str(spec.goal.output), "sources": sources}
    return Task("openagi", "d", str(spec.id), spec.description, inputs), artifacts


def references(spec: TaskSpec, samples: Sequence[int] = (0, 1), split: str = "test") -> list[str]:
    """Return the reference outputs: texts, or sha256 of images."""
    source = source_of(spec)
    if spec.goal.output is Kind.IMAGE:
        clean = [load_input(source, split, number, "image") for number in samples]
        return [hashlib.sha256(content).hexdigest() for content in clean]
    targets = [load_sample(source, split, number).target for number in samples]
    return [target.de if spec.language == "de" else target.en for target in targets]


class Reply:
    """An endpoint with one reply to everything."""

    def __init__(self, text: str | Callable[[str], str]):
        self.text, self.prompts = text, []

    async def generate(self, call: ModelCall) -> Completion:
        self.prompts.append(call.prompt)
        return Completion(self.text if isinstance(self.text, str) else self.text(call.prompt), FinishReason.STOP)


async def run_task(
    task: Task,
    artifacts: Mapping[str, bytes],
    reply: str | Callable[[str], str] | Endpoint,
    actions: ExpertActions,
    journal: MemoryJournal | None = None,
    settings: Mapping[str, str] | None = None,
    sampling: Sampling | None = None,
    parser: Endpoint | None = None,
) -> tuple[EpisodeRun, MemoryJournal]:
    """Run one episode of model synthesis, with the planner's replies or its endpoint."""

    async def load(digest: str) -> ImagePart:
        if digest not in artifacts:
            raise EpisodeError(Ending.INFRA_ERROR, f"no artifact {digest}")
        return ImagePart(artifacts[digest], "image/png")

    journal = journal or MemoryJournal()
    agent = Agent({"planner": "scripted:x"}, "experts", settings=settings or {})
    planner = Reply(reply) if isinstance(reply, str) or callable(reply) else reply
    endpoints = {"planner": planner} | ({"parser": parser} if parser else {})
    executor = Executor(endpoints, actions, sampling or Sampling(), 0, None, load)
    async with executor.for_episode(task, 0) as perform:
        return await run_episode(FORMULATION, task, agent, journal, perform), journal


def calls_of(journal: MemoryJournal) -> list[Step]:
    return [step for step in journal.steps if type(step.command).__name__ == "Call"]


def run_all(episodes: Sequence[Awaitable]) -> list:
    async def gather() -> list:
        return await asyncio.gather(*episodes)

    return asyncio.run(gather())


def _keep(artifacts: dict[str, bytes], data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    artifacts[digest] = data
    return digest


ALL = TASKS
