"""The interface of endpoints, and the settings of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lumos_queue.commands import Constraint, FunctionSchema
from lumos_queue.records import Completion

if TYPE_CHECKING:  # checks of addresses and scripted endpoints do without the client library
    from lumos_queue.endpoints.admission import AdmissionControl

LINE_BREAK = ("\n",)  #: the stop strings of models that write one line, such as those that LUMOS trains
RULES = 3  #: the version of the rules for replies (replies.py) in the newest formulations


@dataclass(frozen=True, slots=True)
class Sampling:
    """The settings with which a model continues a prompt. `temperature` 0 is greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = LINE_BREAK
    bos: bool = True  #: whether the tokenizer puts `<s>` in front; bos.py lists the servers that obey
    beams: int = 0  #: hypotheses of a beam search; 0: no search, or as many as the requested candidates
    epsilon: float = 0.0  #: the probability that the reply is sampled from the candidates' softmax instead of the best
    #: Further fields of the request, and fields of it with other values; None leaves a field out.
    request: Mapping[str, Any] = field(default_factory=dict)
    #: The version of the formulations whose rules read the reply. An executor sets it for the job; it is never stored.
    rules: int = RULES

    def as_json(self) -> dict[str, Any]:
        """Return the stored form. Newer fields with their defaults are omitted: older jobs have no such fields."""
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
    """An image in a prompt."""

    data: bytes = field(repr=False)
    media_type: str  #: e.g. 'image/png'


class EndpointSettings(Protocol):
    """The settings that endpoints use."""

    @property
    def request_seconds(self) -> float:
        """A request that takes longer is late (lumos_queue/endpoints/flights.py)."""
        ...

    @property
    def silence_seconds(self) -> float:
        """A late request is cancelled when its server has answered no request for so long."""
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
        """The control that limits its requests; None for an endpoint without a limit."""
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
        `seed` has no effect where `sampling` has neither a temperature nor an epsilon. `constraint`: the allowed
        texts; an endpoint that cannot enforce it replies without it, and `note` reports a reply that is not allowed.
        `n`: candidates that the completion lists, best first; with `sampling.beams` 0 so many beams are searched.
        Raises EndpointDown when the endpoint has failed or refused so often that no more requests are sent,
        InfrastructureError when a later try may succeed (unreachable, time-out, 408, 424, 425, 429, 5xx, a
        reply that is cut off or not valid JSON), EpisodeError('infra_error', …) when it cannot (any other status,
        with evidence that the request is at fault, `images` for an endpoint that only takes text, or candidates, beams
        or epsilon for one that does not search),
        EpisodeError('limit', …) when the prompt does not fit the model's context, and UnclearFailure when there is no
        evidence about a refusal.
        """
        ...

    async def identity(self) -> dict[str, Any]:
        """Return the server's own description (model, revision, dtype, server version), as far as it has one.

        A value is a list where replicas differ. Raises SpecError, one line with the remedy, when nothing answers, or
        a server of another protocol; EndpointNotReady while the model is loading.
        """
        ...

    async def close(self) -> None:
        """End its connections; calls in progress fail."""
        ...


class FunctionCaller(Endpoint, Protocol):
    """An endpoint whose model calls functions natively. Only calls with functions use the keyword `functions`."""

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
        """Continue `prompt`, in which calls are three lines (three_lines.py). A call in the reply has the same form.

        Raises as `Endpoint.generate`, and EndpointDown when the server takes no functions.
        """
        ...
