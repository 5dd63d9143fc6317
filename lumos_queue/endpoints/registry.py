"""From an address to an endpoint. Each scheme's module is imported only when such an endpoint is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lumos_queue.endpoints.base import Endpoint, EndpointSettings
from lumos_queue.endpoints.urls import TRANSPORTS, check_address, local_path
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.registry import Registry

#: What opens the endpoint at a checked address.
SCHEMES: Registry[Callable[[str, EndpointSettings], Endpoint]] = Registry(
    "endpoint scheme",
    {
        "tgi": "lumos_queue.endpoints.tgi:Tgi",
        "tgis": "lumos_queue.endpoints.tgi:Tgi",
        "openai": "lumos_queue.endpoints.openai:OpenAI",
        "openais": "lumos_queue.endpoints.openai:OpenAI",
        "chat": "lumos_queue.endpoints.chat:Chat",
        "chats": "lumos_queue.endpoints.chat:Chat",
        "local": "lumos_queue.models.local:open_local",
        "scripted": "lumos_queue.endpoints.scripted:open_scripted",
    },
)
#: What checks the path of an address that names a file or a folder.
_PATHS: Registry[Callable[[Path], object]] = Registry(
    "path of an endpoint",
    {"local": "lumos_queue.models.local:check_local", "scripted": "lumos_queue.endpoints.scripted:read_rules"},
)
_TAKING_CONSTRAINTS = ("local", "tgi", "tgis", "openai", "openais")
#: Schemes whose requests can hold images; whether the model looks at them depends on its server.
_TAKING_IMAGES = ("chat", "chats", "tgi", "tgis")


def check_url(url: str) -> None:
    """Check an address without opening it. Raises SpecError; its message never repeats credentials."""
    scheme, colon, _ = url.partition(":")
    if not (colon and scheme.isalnum()):
        raise SpecError(f"An endpoint is written as SCHEME:ADDRESS; choose a scheme: {', '.join(sorted(SCHEMES))}.")
    if scheme not in SCHEMES:
        raise unknown("endpoint scheme", scheme, SCHEMES.names)
    if scheme in TRANSPORTS:
        check_address(scheme, url)
    else:
        _PATHS.load(scheme)(local_path(url))


def takes_images(url: str) -> bool:
    """Whether prompts to the endpoint at a checked address may come with images."""
    return url.partition(":")[0] in _TAKING_IMAGES


def gives_candidates(url: str) -> bool:
    """Whether the endpoint at a checked address searches: with beams, and candidates with log-probabilities."""
    return url.partition(":")[0] == "local"


def takes_constraints(url: str) -> bool:
    """Whether an endpoint at a checked address can hold replies to a constraint.

    Of servers of the OpenAI protocol vLLM can, the others are only judged afterwards: an address does not say which.
    """
    return url.partition(":")[0] in _TAKING_CONSTRAINTS


def open_endpoint(url: str, settings: EndpointSettings) -> Endpoint:
    """The endpoint at an address; nothing is sent or loaded before its first call. Raises SpecError as `check_url`."""
    check_url(url)
    return SCHEMES.load(url.partition(":")[0])(url, settings)
