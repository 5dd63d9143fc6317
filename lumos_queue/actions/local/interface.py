"""The domain local_tools: functions that a task documents, and that run on this machine (documents.py).

Experts are recorded calls to the backends that the options name; this project's code runs all other functions. An
image or a file that a function makes becomes an artifact of the episode, and the call's value contains its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.base import LocalTool
from lumos_queue.actions.experts.interface import ExpertActions, Host
from lumos_queue.actions.experts.options import DEFAULT, chat_addresses, prepare_experts
from lumos_queue.actions.experts.options import OPTIONS as EXPERT_OPTIONS
from lumos_queue.actions.local.calls import LOCAL_FUNCTIONS, CallSite
from lumos_queue.actions.local.documents import CATEGORY
from lumos_queue.actions.local.images import ARTIFACTS
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.options import check_option_names
from lumos_queue.actions.tools.answers import MAX_BODY, SHOWN, envelope, observe
from lumos_queue.actions.tools.arguments import read_arguments
from lumos_queue.actions.tools.options import read_limit
from lumos_queue.actions.tools.session import FunctionSession, referable_values
from lumos_queue.actions.tools.statuses import code_of
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.settings import Settings

DOMAIN = "local_tools"
OBSERVATION = "observation"
OPTIONS = {**EXPERT_OPTIONS, OBSERVATION: f"characters of an answer that are sent to the model (default {SHOWN:,})"}
#: Keys of a call's value: its arguments, with references replaced by their values; and argument to the sha256 of the
#: image that it named.
ARGUMENTS, IMAGES = "arguments", "images"


class LocalToolActions:
    """Answers calls of a task's functions on this machine.

    A job may lack experts. A call of a missing expert sends `not run: needs …` to the model.
    """

    domain = DOMAIN
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {"experts": DEFAULT, OBSERVATION: str(SHOWN)}

    def __init__(
        self, tools: Mapping[str, str] | None = None, settings: Settings | None = None, host: Host | None = None
    ):
        """Raises SpecError if the experts on this machine differ from the experts at submission."""
        tools = tools or {}
        self.limit = read_limit(tools)
        self.experts = ExpertActions(_without_limit(tools), settings, host)
        self.maths = MathsActions()
        self.local_tools: Mapping[str, LocalTool] = self.experts.local_tools

    def read_records(self, deployment: Deployment) -> None:
        """Answer calls from earlier runs of experts in the deployment's database."""
        self.experts.read_records(deployment)

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, DOMAIN, OPTIONS)
        limit = {OBSERVATION: str(read_limit(tools))} if OBSERVATION in tools else {}
        return prepare_experts(_without_limit(tools), required_names=()) | limit

    @staticmethod
    def model_addresses(tools: Mapping[str, str]) -> dict[str, str]:
        return chat_addresses(tools)

    def begin(self, task: Task) -> LocalToolSession:
        return LocalToolSession(self, task)

    async def close(self) -> None:
        """End the calculator's processes. The processes of experts stay: all jobs of this process share them."""
        await self.experts.close()
        await self.maths.close()


class LocalToolSession(FunctionSession):
    """A session without state: images are in the task and in the values of calls."""

    def __init__(self, actions: LocalToolActions, task: Task):
        super().__init__(task, actions.limit)
        self._actions = actions

    async def call(self, action: Action, context: StepContext) -> Execution:
        function = self.find(action.name)
        run = LOCAL_FUNCTIONS.get(function.api) if function.category == CATEGORY else None
        if run is None:
            raise ActionError("not_found", f"nothing here answers '{function.name}'")
        arguments = read_arguments(function, action.arguments, referable_values(action, context))
        site = CallSite(self._actions.experts, self._actions.maths, self._task, context)
        output = await run(arguments, site)
        observation, value = observe(envelope("", output.response)[:MAX_BODY], code_of("ok"), self._limit)
        extra_fields: dict[str, Any] = {
            ARGUMENTS: arguments,
            ARTIFACTS: [dict(artifact) for artifact in output.artifacts],
            IMAGES: dict(output.images),
        }
        return Execution(
            "ok", observation, (value | {name: content for name, content in extra_fields.items() if content},)
        )


def _without_limit(tools: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in tools.items() if name != OBSERVATION}
