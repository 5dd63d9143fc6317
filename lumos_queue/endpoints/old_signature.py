"""Endpoints of plug-ins whose `generate` takes the fields of a call as arguments, as it did before ModelCall.

    async def generate(self, prompt, sampling, seed, episode="", images=(), constraint=None, n=1)

With functions, such an endpoint gets the keyword `functions` too; no other call has that keyword.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lumos_queue.commands import Constraint, FunctionSchema
from lumos_queue.endpoints.base import Endpoint, ImagePart, ModelCall, Sampling
from lumos_queue.records import Completion, Json

if TYPE_CHECKING:  # as in base.py
    from lumos_queue.endpoints.admission import AdmissionControl

E = TypeVar("E")
POSITIONAL = ("prompt", "sampling", "seed", "episode", "images", "constraint", "n")  #: all calls passed these


class OldEndpoint(Protocol):
    """An endpoint whose `generate` takes the fields of a call as arguments."""

    url: str

    @property
    def admission(self) -> AdmissionControl | None: ...

    async def generate(self, *fields: Any, **functions: Any) -> Completion: ...

    async def identity(self) -> dict[str, Json]: ...

    async def close(self) -> None: ...


class OldSignature:
    """An endpoint that passes the fields of each call as arguments to an endpoint of the old signature."""

    def __init__(self, endpoint: OldEndpoint):
        self.url = endpoint.url
        self._endpoint = endpoint

    @property
    def admission(self) -> AdmissionControl | None:
        return self._endpoint.admission

    async def generate(self, call: ModelCall) -> Completion:
        """Return the endpoint's completion, with the errors of `Endpoint.generate`."""
        fields = (call.prompt, call.sampling, call.seed, call.episode, call.images, call.constraint, call.candidates)
        functions = {"functions": call.functions} if call.functions else {}
        return await self._endpoint.generate(*fields, **functions)

    async def identity(self) -> dict[str, Json]:
        return await self._endpoint.identity()

    async def close(self) -> None:
        await self._endpoint.close()


def adapt_signature(endpoint: Endpoint | OldEndpoint) -> Endpoint:
    """Return an endpoint that takes a ModelCall: the endpoint itself, or an adapter if it has the old signature.

    Endpoints with the old signature accept seven positional arguments; those that take a call do not.
    """
    try:
        inspect.signature(endpoint.generate).bind(*POSITIONAL)
    except (TypeError, ValueError):  # it takes a call, or it has no signature
        return endpoint
    return OldSignature(endpoint)


def accept_fields(
    generate: Callable[[E, ModelCall], CoroutineType[Any, Any, Completion]],
) -> Callable[..., CoroutineType[Any, Any, Completion]]:
    """Let `generate` of a base class also take the fields of a call, as `super().generate(…)` of a plug-in does."""

    @wraps(generate)
    async def accept(endpoint: E, *arguments: Any, **fields: Any) -> Completion:
        calls = [value for value in (*arguments, *fields.values()) if isinstance(value, ModelCall)]
        return await generate(endpoint, calls[0] if calls else _make_call(*arguments, **fields))

    return accept


def _make_call(
    prompt: str,
    sampling: Sampling,
    seed: int,
    episode: str = "",
    images: Sequence[ImagePart] = (),
    constraint: Constraint | None = None,
    n: int = 1,
    *,
    functions: Sequence[FunctionSchema] = (),
) -> ModelCall:
    return ModelCall(prompt, sampling, seed, episode, tuple(images), constraint, n, tuple(functions))
