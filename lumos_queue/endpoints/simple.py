"""The base class of endpoints that reply to a prompt with a text."""

from __future__ import annotations

import time

from lumos_queue.endpoints.base import EndpointSettings, ModelCall, Sampling
from lumos_queue.endpoints.constraints import judge, refuse_search
from lumos_queue.endpoints.old_signature import accept_fields
from lumos_queue.endpoints.replies import completion
from lumos_queue.errors import EpisodeError, InfrastructureError
from lumos_queue.records import Completion, Ending, Json


class SimpleEndpoint:
    """A base class of endpoints: a subclass defines `reply`. Images are refused; constraints are checked afterwards.

    >>> import lumos_queue as lq
    >>> class Echo(lq.SimpleEndpoint):
    ...     async def reply(self, prompt, sampling):
    ...         return prompt[: sampling.max_tokens]
    """

    def __init__(self, url: str, settings: EndpointSettings):
        self.url, self.settings = url, settings
        self.admission = None

    async def reply(self, prompt: str, sampling: Sampling) -> str:
        """Return the model's reply. A subclass defines this method.

        If it raises an error, the episode ends with infra_error, which is counted apart from wrong answers; if it
        raises an InfrastructureError, the item is retried.
        """
        raise NotImplementedError

    @accept_fields
    async def generate(self, call: ModelCall) -> Completion:
        """Return the reply, cut before the first stop string. Raises the errors of `Endpoint.generate`."""
        refuse_search(self.url, call)
        if call.images:
            raise EpisodeError(Ending.INFRA_ERROR, f"{self.url} takes no images")
        start = time.perf_counter()
        try:
            text = await self.reply(call.prompt, call.sampling)
        except (EpisodeError, InfrastructureError):
            raise
        except Exception as error:  # third-party code may raise anything
            raise EpisodeError(Ending.INFRA_ERROR, f"{self.url} failed: {type(error).__name__}: {error}") from error
        _check_text(self.url, text)
        seconds = time.perf_counter() - start
        answer = completion(text, call.sampling.stop, truncated=False, seconds=seconds, rules=call.sampling.rules)
        return judge(answer, call.constraint, was_sent=False)

    async def identity(self) -> dict[str, Json]:
        """Return the endpoint's identity: by default its class. Override it to add the weights' digest, `sha256`."""
        return {"endpoint": type(self).__name__}

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _check_text(url: str, reply: object) -> None:
    """Raise EpisodeError if a reply is no text: third-party code may return anything."""
    if not isinstance(reply, str):
        raise EpisodeError(Ending.INFRA_ERROR, f"{url} returned {type(reply).__name__}, not a text")
