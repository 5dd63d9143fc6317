"""What every endpoint offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lumos_queue.commands import Constraint, FunctionSchema
from lumos_queue.records import Completion

if TYPE_CHECKING:  # an address is checked, and a scripted endpoint opened, without the client library
    from lumos_queue.endpoints.admission import AdmissionControl

LINE_BREAK = ("\n",)  #: the stop strings of models that write a line, as those that LUMOS trains do
RULES = 3  #: of reading replies (replies.py): those of the newest formulations


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked to continue a prompt. `temperature` 0 is greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = LINE_BREAK
    bos: bool = True  #: whether the tokenizer puts `<s>` in front; which servers obey: bos.py
    beams: int = 0  #: hypotheses of a beam search; 0: no search, or as many as candidates are asked for
    epsilon: float = 0.0  #: the probability that the reply is drawn from the candidates' softmax, and not the best one
    #: Further fields of the request, and fields of it with other values; None leaves a field out.
    request: Mapping[str, Any] = field(default_factory=dict)
    #: The version of the formulations whose rules read the reply. An executor sets it for the job; it is never stored.
    rules: int = RULES

    def as_json(self) -> dict[str, Any]:
        """As it is stored. What has its default and came later is not named: older jobs have no such fields."""
        fields = asdict(self)
        del fields["rules"]
        for name, default in (("bos", True), ("beams", 0), ("epsilon", 0.0), ("request", {})):
            if fields[name] == default:
                del fields[name]
        return fields

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sampling:
        return cls(**{**value, "stop": tuple(value["stop"])})


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image shown with a prompt."""

    data: bytes = field(repr=False)
    media_type: str  #: e.g. 'image/png'


class EndpointSettings(Protocol):
    """What endpoints read of the settings."""

    @property
    def request_seconds(self) -> float:
        """A request that takes longer is late (lumos_queue/endpoints/flights.py)."""
        ...

    @property
    def silence_seconds(self) -> float:
        """A late request is given up when its server has answered none for so long."""
        ...

    @property
    def request_retries(self) -> int:
        """Further tries after the first."""
        ...

    @property
    def api_keys(self) -> Path | None:
        """The file with the keys of servers (lumos_queue/endpoints/api_keys.py)."""
        ...

    @property
    def endpoint_hosts(self) -> str:
        """The hosts that may be called (lumos_queue/endpoints/hosts.py); '' for any."""
        ...

    @property
    def concurrency(self) -> int:
        """The most requests of one process in flight to one endpoint."""
        ...


class Endpoint(Protocol):
    """One model at one address. Safe to use from many coroutines of one event loop."""

    url: str

    @property
    def admission(self) -> AdmissionControl | None:
        """What limits its requests; None where there is nothing to cap."""
        ...

    async def generate(
        self,
        prompt: str,
        sampling: Sampling,
        seed: int,
        episode: str = "",
        images: Sequence[ImagePart] = (),
        constraint: Constraint | None = None,
        n: int = 1,
    ) -> Completion:
        """Continue `prompt`. The reply is cut before the first stop string and made storable.

        Prompts of the same `episode` go to the same replica, as far as its load allows: they share a prefix.
        `seed` decides nothing where `sampling` has neither a temperature nor an epsilon. `constraint`: which texts the
        reply may be; an endpoint that cannot keep to it writes what it would, and `note` says if that is not allowed.
        `n`: candidates that the completion lists, best first; with `sampling.beams` 0 so many beams are searched.
        Raises EndpointDown when the endpoint has failed or refused so often that it is no longer asked,
        InfrastructureError when trying again later may succeed (unreachable, time-out, 408, 424, 425, 429, 5xx, a
        reply that is cut off or not valid JSON), EpisodeError('infra_error', …) when it will not (any other status,
        with evidence that the request is at fault, `images` for an endpoint that only takes text, or candidates, beams
        or epsilon for one that does not search),
        EpisodeError('limit', …) when the prompt does not fit the model's context, and Undecided when there is no
        evidence about a refusal.
        """
        ...

    async def identity(self) -> dict[str, Any]:
        """What the server says it is (model, revision, dtype, server version), as far as it says.

        A value is a list where replicas differ. Raises SpecError, one line with the way out, when nothing answers
        there, or a server of another protocol than the scheme says; EndpointNotReady while its model is loading.
        """
        ...

    async def close(self) -> None:
        """End its connections; calls under way fail."""
        ...


class FunctionCaller(Endpoint, Protocol):
    """An endpoint whose model calls functions natively. Only asks with functions use the keyword `functions`."""

    async def generate(
        self,
        prompt: str,
        sampling: Sampling,
        seed: int,
        episode: str = "",
        images: Sequence[ImagePart] = (),
        constraint: Constraint | None = None,
        n: int = 1,
        *,
        functions: Sequence[FunctionSchema] = (),
    ) -> Completion:
        """Continue `prompt`, in which calls are three lines (three_lines.py). The reply's text has a call so, too.

        Raises as `Endpoint.generate`, and EndpointDown when the server takes no functions.
        """
        ...
