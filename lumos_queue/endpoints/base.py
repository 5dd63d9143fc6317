"""The interface of endpoints, their calls, and the settings of their requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lumos_queue.commands import Constraint, FunctionSchema
from lumos_queue.records import Completion, Json, JsonObject

if TYPE_CHECKING:  # checks of addresses and scripted endpoints do without the client library
    from lumos_queue.endpoints.admission import AdmissionControl

LINE_BREAK = ("\n",)  #: the stop strings of models that write one line, such as those that LUMOS trains
RULES = 3  #: the newest rules for replies (replies.py), by the version of the formulations that brought them


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
    request: JsonObject = field(default_factory=dict[str, Json])
    #: The version of the formulations whose rules read the reply. An executor sets it for the job; it is never stored.
    rules: int = RULES

    def as_json(self) -> dict[str, Json]:
        """Return the stored form. Newer fields with default values are omitted, because older jobs lack them."""
        fields = asdict(self)
        del fields["rules"]
        defaults: dict[str, Json] = {"bos": True, "beams": 0, "epsilon": 0.0, "request": {}}
        for name, default in defaults.items():
            if fields[name] == default:
                del fields[name]
        return fields

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sampling:
        fields: dict[str, Any] = {**value, "stop": tuple(value["stop"])}
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a prompt."""

    data: bytes = field(repr=False)
    media_type: str  #: e.g. 'image/png'


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model: the prompt to continue, and everything that affects its reply."""

    prompt: str
    sampling: Sampling
    seed: int = 0  #: only used with a temperature or an epsilon
    episode: str = ""  #: its prompts share a prefix, so they go to the same replica if its load allows it
    images: tuple[ImagePart, ...] = ()  #: shown with the prompt
    constraint: Constraint | None = None  #: the allowed texts; an endpoint that cannot enforce it judges the reply
    #: How many candidates the completion lists, best first. `sampling.beams` 0 searches as many beams.
    candidates: int = 1
    functions: tuple[FunctionSchema, ...] = ()  #: that the model may call by the interface of its server


class EndpointSettings(Protocol):
    """The settings that endpoints use."""

    @property
    def request_seconds(self) -> float:
        """Seconds after which a request is late (lumos_queue/endpoints/flights.py)."""
        ...

    @property
    def silence_seconds(self) -> float:
        """A late request is cancelled when its server has answered no request for this many seconds."""
        ...

    @property
    def request_retries(self) -> int:
        """The number of tries after the first try of a request."""
        ...

    @property
    def api_keys(self) -> Path | None:
        """The file with the keys of servers (lumos_queue/endpoints/api_keys.py), if there is one."""
        ...

    @property
    def endpoint_hosts(self) -> str:
        """The hosts that may be called, as hosts.py reads them; '' permits any host."""
        ...

    @property
    def concurrency(self) -> int:
        """The maximum number of requests in flight from one process to one endpoint."""
        ...


class Endpoint(Protocol):
    """One model at one address. Safe to use from many coroutines of one event loop."""

    url: str

    @property
    def admission(self) -> AdmissionControl | None:
        """The object that limits the endpoint's requests in flight; None for an endpoint without a limit."""
        ...

    async def generate(self, call: ModelCall) -> Completion:
        """Continue the prompt. The reply is cut before the first stop string and made storable.

        The completion's `note` reports a reply that the constraint does not allow. Calls of functions in prompt and
        reply are written as three lines (three_lines.py).
        Raises EndpointDown when no more requests are sent, because the endpoint has failed or refused too often, or
        the server takes no functions;
        InfrastructureError when a later try may succeed (unreachable, time-out, 408, 424, 425, 429, 5xx, a reply that
        is cut off or not valid JSON); EpisodeError('limit', …) when the prompt does not fit the model's context;
        UnclearFailure when nothing shows whether a refused request or the server is at fault; and
        EpisodeError('infra_error', …) when the request is at fault: other requests show that a refusal is about this
        one, or the endpoint does not support its images, functions, candidates, beams or epsilon.
        """
        ...

    async def identity(self) -> dict[str, Json]:
        """Return the server's own description (model, revision, dtype, server version), as far as it has one.

        If replicas differ in a value, it is the list of their values. Raises SpecError, one line with the remedy, when
        no server or one of another protocol answers; EndpointNotReady while the model is loading.
        """
        ...

    async def close(self) -> None:
        """Close the endpoint's connections. Calls in progress fail."""
        ...
