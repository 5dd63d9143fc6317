"""Carry out those commands of an episode whose results are not yet recorded: ask endpoints, run actions, call tools."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from lumos_queue.actions.base import ActionInterface, LocalTool, Session
from lumos_queue.commands import Approve, Ask, Call, Command, Do, Result, digest, write_answer
from lumos_queue.endpoints.base import RULES, Endpoint, ImagePart, ModelCall, Sampling
from lumos_queue.endpoints.registry import takes_functions
from lumos_queue.endpoints.roles import choose_sampling
from lumos_queue.episode import Perform, StepContext
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.tools.caller import Caller
from lumos_queue.notation import REPEATED, TOO_MANY
from lumos_queue.prompts.dialogue import MAX_ACTIONS
from lumos_queue.records import Completion, Ending, Execution, FinishReason, Role, Task

_SHOWN = "shown with the image "  #: the beginning of a completion's note, before the images' sha256
_PNG = b"\x89PNG\r\n\x1a\n"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Executor:
    """Endpoints by role, an action interface and sampling settings, for every episode of a job."""

    endpoints: Mapping[str, Endpoint]
    actions: ActionInterface | None  #: None if the formulation runs no actions
    sampling: Sampling
    seed: int  #: of the job
    caller: Caller | None = None
    image: Callable[[str], Awaitable[ImagePart]] | None = None  #: loads the artifact with that sha256
    samplings: Mapping[str, Sampling] = field(default_factory=dict[str, Sampling])  #: of roles with their own sampling
    judge_beside: bool = True  #: whether the judge scores a completed episode; False: its calls are the episode
    approver: str = ""  #: the name under which every plan is approved; empty: a person has to answer
    rules: int = RULES  #: the version of the formulations whose rules read replies

    @asynccontextmanager
    async def for_episode(self, task: Task, sample: int) -> AsyncGenerator[Perform, None]:
        """Yield the function that performs an episode's commands. The first action opens the action session."""
        episode = f"{task.dataset} {task.row} {sample}"
        session: Session | None = None

        async def perform(command: Command, context: StepContext) -> Result:
            nonlocal session
            context.load_stored = self._load_artifact
            if isinstance(command, Ask):
                return await self._ask(command, task, sample, context, episode)
            if isinstance(command, Do):
                if command.action.name == TOO_MANY and not command.action.variables:
                    message = f"a reply may have {MAX_ACTIONS:,} actions, this one has {command.action.arguments}"
                    return Execution(TOO_MANY, message=message.removesuffix(" actions"))
                if command.action.name == REPEATED and not command.action.variables:
                    return Execution(REPEATED, message=f"this call of {command.action.raw} was made before")
                assert self.actions is not None
                session = session or self.actions.begin(task.without_gold())
                context.protocol = command.protocol
                return await session.execute(command.action, context)
            if isinstance(command, Call):
                if local := self._local_tool(command.tool):
                    return await local(command.arguments, command.nth, context)
                if self.caller is None:
                    return Execution(
                        "live_refused", message=f"no tool outside may be called here, not '{command.tool}'"
                    )
                return await self.caller.call(
                    command, digest(episode, f"{context.position}.{context.branch}", command.digest)
                )
            if isinstance(command, Approve) and self.approver:
                return write_answer(True, "", self.approver)
            return None  # for a note, and for a plan that a person has to approve first

        try:
            yield perform
        finally:
            if session is not None:
                await session.close()

    async def _load_image(self, digest: str, context: StepContext) -> ImagePart:
        """Return an image. One that an earlier step made may be stored later than the step that shows it."""
        content = context.journal.find_kept(digest) if context.journal else None
        if content is not None and content.startswith(_PNG):
            return ImagePart(content, "image/png")
        assert self.image is not None
        return await self.image(digest)

    async def _load_artifact(self, digest: str) -> bytes:
        assert self.image is not None
        return (await self.image(digest)).data

    def _local_tool(self, name: str) -> LocalTool | None:
        """Return the tool of that name that the domain's actions provide without the network, or None."""
        tools: Mapping[str, LocalTool] = getattr(self.actions, "local_tools", {})
        return tools.get(name)

    def sample_call(self, role: str, task: Task, sample: int, position: int, branch: int) -> tuple[Sampling, int]:
        """Return the sampling settings for a role's model at a step, and the seed for its reply."""
        sampling = choose_sampling(role, self.samplings, self.sampling)
        if self.rules < RULES:  # later versions of the formulations read replies by the newest rules
            sampling = replace(sampling, rules=self.rules)
        # A greedy reply depends on no seed, and most replies are greedy.
        greedy = sampling.temperature == 0 and sampling.epsilon == 0
        return sampling, 0 if greedy else derive_seed(self.seed, task, sample, position, branch)

    async def _ask(self, ask: Ask, task: Task, sample: int, context: StepContext, episode: str) -> Completion:
        if ask.role not in self.endpoints:
            raise EpisodeError(Ending.INFRA_ERROR, f"no endpoint for the role '{ask.role}': give --role {ask.role}=URL")
        sampling, seed = self.sample_call(ask.role, task, sample, context.position, context.branch)
        endpoint = self.endpoints[ask.role]
        if ask.functions and not takes_functions(endpoint.url):
            raise EpisodeError(
                Ending.INFRA_ERROR, f"{endpoint.url} takes no functions: use chat://HOST:PORT?model=NAME for this role."
            )
        images = tuple([await self._load_image(sha256, context) for sha256 in ask.images])
        call = ModelCall(ask.prompt, sampling, seed, episode, images, ask.constraint, ask.n, ask.functions)
        if images:
            completion = await endpoint.generate(call)
            note = f"{_SHOWN}{', '.join(ask.images)}"
            return replace(completion, note=f"{note}; {completion.note}" if completion.note else note)
        try:
            return await endpoint.generate(call)
        except EpisodeError:
            if ask.role != Role.JUDGE or not self.judge_beside:
                raise
            return Completion("", FinishReason.REFUSED)  # the episode is complete: the refusal must not fail it


def read_images(note: str) -> tuple[str, ...]:
    """Return the sha256 of each image that was sent with a prompt, from the note of its completion."""
    if not note.startswith(_SHOWN):
        return ()
    digests = note.removeprefix(_SHOWN).partition(";")[0]
    return tuple(digest for digest in digests.split(", ") if _DIGEST.fullmatch(digest))


def derive_seed(seed: int, task: Task, sample: int, position: int, branch: int) -> int:
    """Return a 31-bit seed for a step, which depends only on the job's seed, the episode and the step."""
    hexdigits = digest(str(seed), task.dataset, task.row, str(sample), f"{position}.{branch}")
    return int(hexdigits[:8], 16) & 0x7FFFFFFF
