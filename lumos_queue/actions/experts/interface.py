"""The domain experts: runs of expert models on the images and texts of a task.

An action names an expert and, as a JSON list, its inputs: channels of the task, or variables. Each action makes a
recorded call, which is stored in its own row. If an equal call was made before, its results are reused (reuse.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from lumos_queue.actions.base import LocalTool
from lumos_queue.actions.experts.chat_runs import ask_samples
from lumos_queue.actions.experts.options import (
    DEFAULT,
    PROMPTS,
    chat_addresses,
    explain_missing,
    open_experts,
    prepare_experts,
)
from lumos_queue.actions.experts.reuse import LIVE, RECORDED, Results, ReusedRuns
from lumos_queue.actions.experts.session import ExpertSession, Run
from lumos_queue.actions.experts.values import MAX_CHARACTERS, Values, show
from lumos_queue.commands import Call
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError, EpisodeError
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.backends.chat import VERSION, is_chat
from lumos_queue.experts.backends.oracle import run_oracle
from lumos_queue.experts.backends.remote_server import SCHEMES, RemoteExperts
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.originals import ORIGINALS, Originals
from lumos_queue.experts.problems import BAD_OUTPUT, Problem
from lumos_queue.records import Execution, Task
from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.sanitize import storable

if TYPE_CHECKING:
    from lumos_queue.actions.experts.recorded_runs import RecordedRuns
    from lumos_queue.deployment.deployment import Deployment

EXPERT = "expert"  #: the tool that a call names
ORACLE = "oracle"  #: the provenance of a run of an oracle


class Host(Protocol):
    """Runs experts: experts/host.py on this machine, experts/backends/remote_server.py on others."""

    async def run(self, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> Results:
        """Return a result for each sample. Raises ActionError if the expert cannot be loaded."""
        ...


class ExpertActions:
    """Runs experts by the backends that its options name (options.py)."""

    domain = "experts"
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {"experts": DEFAULT}

    def __init__(
        self, tools: Mapping[str, str] | None = None, settings: Settings | None = None, host: Host | None = None
    ):
        """Raises SpecError if the experts differ from those at submission."""
        self._tools = dict(tools or {})
        self.facts = open_experts(self._tools)
        self.local_tools: Mapping[str, LocalTool] = {EXPERT: self._answer}
        self._host, self._runs = host, ReusedRuns()
        self._remote = RemoteExperts(settings or read_settings())
        self._recorded_runs: RecordedRuns | None = None

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        return prepare_experts(tools)

    @staticmethod
    def model_addresses(tools: Mapping[str, str]) -> dict[str, str]:
        return chat_addresses(tools)

    def read_records(self, deployment: Deployment) -> None:
        """Answer calls from earlier runs of experts in the deployment's database, whatever job made them."""
        from lumos_queue.actions.experts.recorded_runs import RecordedRuns

        self._recorded_runs = RecordedRuns(deployment)

    def begin(self, task: Task) -> ExpertSession:
        return ExpertSession(self, task)

    async def close(self) -> None:
        """Stop active runs. The processes of experts stay: all jobs of this process share them."""
        await self._runs.close()
        await self._remote.close()

    def is_oracle(self, expert: Expert) -> bool:
        return expert.name in self.facts and self.facts[expert.name].fidelity == Fidelity.ORACLE

    def originals_of(self, task: Task) -> Originals | None:
        """Return the access to the task's inputs before augmentation; None if no benchmark generated the task."""
        is_generated = task.benchmark in ORIGINALS and bool(task.inputs.get("sources"))
        return ORIGINALS.load(task.benchmark) if is_generated else None

    async def call(self, run: Run, context: StepContext) -> Execution:
        """Run an expert as a recorded call, whose value has an item for each sample. Raises ActionError."""
        if (facts := self.facts.get(run.expert.name)) is None:
            why = explain_missing(run.expert.name, self._tools)
            remedy = f"give --tool {run.expert.option}=…" + (f" ({why})" if why else "")
            raise ActionError("not_run", f"no backend of '{run.expert.name}' is there: {remedy}")
        token = _CURRENT_RUN.set((facts, run))
        try:
            return await context.call(EXPERT, **_arguments(facts, run))
        finally:
            _CURRENT_RUN.reset(token)

    async def _answer(self, arguments: Mapping[str, Any], _nth: int, context: StepContext) -> Execution:
        facts, run = _CURRENT_RUN.get()
        key = Call(EXPERT, arguments).digest
        if is_chat(facts.url):
            version = self._tools.get(PROMPTS, VERSION)
            results, provenance = await self._runs.find_or_lead(key, lambda: ask_samples(run, version, context))
            return _keep(run, results, provenance, context)

        async def find_or_run() -> tuple[Results, str]:
            if (recorded_results := await self._find_recorded(key, run, context)) is not None:
                return recorded_results, RECORDED
            inputs = [[await _load(values, sample, context) for sample in run.samples] for values in run.inputs]
            if facts.fidelity != Fidelity.ORACLE:
                return await self._open_host(facts).run(facts, inputs), LIVE
            if run.originals is None:
                raise ActionError("not_run", "oracles need the originals of a task's inputs: generated tasks have them")
            return run_oracle(run.expert, inputs, _origins(run), run.originals), ORACLE

        try:
            results, provenance = await self._runs.find_or_run(key, find_or_run)
        except ActionError as error:
            return Execution(error.kind, message=storable(str(error))[0])
        return _keep(run, results, provenance, context)

    async def _find_recorded(self, key: str, run: Run, context: StepContext) -> Results | None:
        """Return the results of an equal call in the database; None without such a call, or without its artifacts."""
        execution = await self._recorded_runs.find(key) if self._recorded_runs is not None else None
        if execution is None or len(execution.values) != 1 or execution.values[0].get("problems"):
            return None
        items = execution.values[0].get("items")
        if not isinstance(items, list) or len(items) != len(run.samples) or not all(isinstance(i, str) for i in items):
            return None
        values = Values(run.expert.output, tuple(items))
        try:
            return [await _load(values, index, context) for index in range(len(items))]
        except EpisodeError:  # it was removed meanwhile
            return None

    def _open_host(self, facts: BackendFacts) -> Host:
        if facts.url.partition(":")[0] in SCHEMES:
            return self._remote
        if self._host is None:
            from lumos_queue.experts.host import experts_of_this_process

            self._host = experts_of_this_process()
        return self._host


_CURRENT_RUN: ContextVar[tuple[BackendFacts, Run]] = ContextVar("run of an expert")


def _arguments(facts: BackendFacts, run: Run) -> dict[str, Any]:
    """Return a call's arguments, which contain all that affects the result; for an oracle, also the inputs' origins."""
    inputs = [[values.digest_of(sample) for sample in run.samples] for values in run.inputs]
    arguments: dict[str, Any] = {"expert": run.expert.name, "digest": facts.digest, "inputs": inputs}
    if facts.fidelity == Fidelity.ORACLE:
        arguments["origins"] = [[origin.as_json() if origin else None for origin in slot] for slot in _origins(run)]
    return arguments


def _origins(run: Run) -> list[list[Any]]:
    return [[values.origins[sample] if values.origins else None for sample in run.samples] for values in run.inputs]


async def _load(values: Values, sample: int, context: StepContext) -> bytes:
    item = values.items[sample]
    assert item is not None
    return await context.load(item) if values.kind is Kind.IMAGE else item.encode()


def _keep(run: Run, results: Results, provenance: str, context: StepContext) -> Execution:
    """Return an execution with the results as its value. Store images for this episode, also images of earlier runs."""
    items: list[str | None] = []
    problems: dict[int, str] = {}
    for index, output in enumerate(results):
        if isinstance(output, bytes) and run.expert.output is Kind.TEXT:
            output = _read_text(output)
        if isinstance(output, Problem):
            problems[index] = storable(f"{output.kind}: {output.message}")[0]
            items.append(None)
        else:
            items.append(output if isinstance(output, str) else context.keep(output, "image/png"))
    values = Values(run.expert.output, tuple(items), problems)
    value = values.as_json(show(values, [output for output in results if isinstance(output, bytes)]))
    return Execution("ok", value["text"], (value,), provenance=provenance)


def _read_text(data: bytes) -> str | Problem:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Problem(BAD_OUTPUT, "expected UTF-8")
    if len(text) > MAX_CHARACTERS:
        return Problem(BAD_OUTPUT, f"a text of {len(text):,} characters: at most {MAX_CHARACTERS:,}")
    return storable(text)[0]
