"""Endpoint schemes. A scheme is the start of an address; it has functions that check and open addresses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import Any

from lumos_queue.endpoints.base import LINE_BREAK, Endpoint, EndpointSettings, ModelCall
from lumos_queue.endpoints.request_bodies import (
    SentRequest,
    split_body,
    write_chat,
    write_completion,
    write_generate,
    write_sampling,
)
from lumos_queue.endpoints.urls import CHAT_SCHEMES, check_address, local_path
from lumos_queue.util.model_loading import import_libraries

#: A function, or its location `package.module:function`, which is imported at the first call.
Function = Callable[..., Any] | str


@dataclass(frozen=True, slots=True)
class EndpointScheme:
    """How to open endpoints of one scheme, and what they support. Plug-ins add schemes (docs/plugins.md).

    >>> import lumos_queue as lq
    >>> class Echo(lq.SimpleEndpoint):
    ...     async def reply(self, prompt, sampling):
    ...         return prompt[: sampling.max_tokens]
    >>> echo = lq.EndpointScheme(open=Echo)
    """

    open: Function  #: gets a checked address and EndpointSettings; returns an Endpoint without sending anything
    check: Function | None = None  #: gets an address; raises SpecError for a wrong one, without its credentials
    images: bool = False  #: whether prompts may have images; the server decides whether the model uses them
    candidates: bool = False  #: whether it searches: with beams, and candidates with log-probabilities
    #: Whether it can enforce a constraint. Among servers of the OpenAI protocol only vLLM can, which an address does
    #: not show; replies of other servers are judged afterwards.
    constraints: bool = False
    #: Whether calls may have functions, which the model calls by the interface of its server (ModelCall.functions).
    functions: bool = False
    form: Function | None = (
        None  #: as `check`, but for the text of the address alone, without opening anything; None: use `check`
    )
    stop: tuple[str, ...] = ()  #: the default stop strings of its requests
    fields: bool = False  #: whether its requests take further fields (`--request`)
    #: Writes the body of a request from a ModelCall, the addresses of its images, the model's name and the owners of
    #: the servers' models, for requests and `lumos show` (request_bodies.py). None: there is no server.
    body: Function | None = None

    def check_url(self, url: str) -> None:
        """Raise SpecError if the address, or the file or folder that it names, is wrong."""
        if self.check is not None:
            _function(self.check)(url)

    def check_form(self, url: str) -> None:
        """Raise SpecError if the form of the address is wrong, without opening a file or folder that it names."""
        if self.form is None:
            self.check_url(url)
        else:
            _function(self.form)(url)

    def open_url(self, url: str, settings: EndpointSettings) -> Endpoint:
        """Return the endpoint at a checked address."""
        return _function(self.open)(url, settings)

    def write_request(
        self, call: ModelCall, image_urls: Sequence[str], model: str, owners: Collection[str]
    ) -> SentRequest:
        """Return the request that the call sends to a server, or the input of an endpoint without a server."""
        if self.body is None:
            return split_body(write_sampling(call))
        return split_body(_function(self.body)(call, image_urls, model, owners))


def _function(function: Function) -> Callable[..., Any]:
    if not isinstance(function, str):
        return function
    with import_libraries(function):
        return resolve_name(function)


def _check_path(checker: str, url: str) -> None:
    _function(checker)(local_path(url))


TGI, TGIS = (
    EndpointScheme(
        "lumos_queue.endpoints.tgi:Tgi",
        partial(check_address, scheme),
        images=True,
        constraints=True,
        stop=LINE_BREAK,
        fields=True,
        body=write_generate,
    )
    for scheme in ("tgi", "tgis")
)
OPENAI, OPENAIS = (
    EndpointScheme(
        "lumos_queue.endpoints.openai:OpenAI",
        partial(check_address, scheme),
        constraints=True,
        stop=LINE_BREAK,
        fields=True,
        body=write_completion,
    )
    for scheme in ("openai", "openais")
)
CHAT, CHATS = (
    EndpointScheme(
        "lumos_queue.endpoints.chat:Chat",
        partial(check_address, scheme),
        images=True,
        functions=True,
        fields=True,
        body=write_chat,
    )
    for scheme in CHAT_SCHEMES
)
LOCAL = EndpointScheme(
    "lumos_queue.models.local:open_local",
    partial(_check_path, "lumos_queue.models.local:check_local"),
    candidates=True,
    constraints=True,
    form=local_path,
    stop=LINE_BREAK,
)
SCRIPTED = EndpointScheme(
    "lumos_queue.endpoints.scripted:open_scripted",
    partial(_check_path, "lumos_queue.endpoints.scripted:read_rules"),
    form=local_path,
    stop=LINE_BREAK,
)
FUNCTION = EndpointScheme(
    "lumos_queue.endpoints.functions:FunctionEndpoint",
    "lumos_queue.endpoints.functions:check_function",
    form="lumos_queue.endpoints.functions:check_name",
)
