"""Open endpoints by address. A scheme's module is imported only when such an endpoint is opened."""

from __future__ import annotations

import re

from lumos_queue.endpoints.base import Endpoint, EndpointSettings
from lumos_queue.endpoints.functions import FUNCTIONS
from lumos_queue.endpoints.old_signature import adapt_signature
from lumos_queue.endpoints.schemes import EndpointScheme
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.plugins import Plugin, is_dotted
from lumos_queue.util.registry import Registry

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")  #: the start of an address (RFC 3986, section 3.1)
_ROOM = "lumos_queue.endpoints.schemes"
SCHEMES: Registry[EndpointScheme] = Registry(
    "endpoint scheme",
    {
        "tgi": f"{_ROOM}:TGI",
        "tgis": f"{_ROOM}:TGIS",
        "openai": f"{_ROOM}:OPENAI",
        "openais": f"{_ROOM}:OPENAIS",
        "chat": f"{_ROOM}:CHAT",
        "chats": f"{_ROOM}:CHATS",
        "local": f"{_ROOM}:LOCAL",
        "scripted": f"{_ROOM}:SCRIPTED",
        "function": f"{_ROOM}:FUNCTION",
    },
    "endpoints",
    EndpointScheme,
)


def check_url(url: str) -> None:
    """Check an address, and the file or folder that it names. Raises SpecError; its message repeats no credentials."""
    _find_scheme(url).check_url(url)


def check_form(url: str) -> None:
    """Check the form of an address only; the file or folder may be missing. Raises SpecError, without credentials."""
    _find_scheme(url).check_form(url)


def check_server_form(url: str) -> None:
    """Check the form of a server's address. Raises SpecError, also for a scheme without a server."""
    if _find_scheme(url).body is None:
        names = ", ".join(sorted(name for name in SCHEMES.names if _has_server(name)))
        raise SpecError(f"'{url[:80]}' is not the address of a server: expected a scheme such as {names}.")
    check_form(url)


def _has_server(scheme: str) -> bool:
    return SCHEMES.load(scheme).body is not None


def _find_scheme(url: str) -> EndpointScheme:
    scheme, colon, _ = url.partition(":")
    if not (colon and SCHEME.fullmatch(scheme)):
        raise SpecError(
            f"An endpoint is written as SCHEME:ADDRESS; choose a scheme: {', '.join(sorted(SCHEMES.names))}."
        )
    if scheme not in SCHEMES:
        if is_dotted(url):
            raise SpecError(f"'{url[:80]}' has no scheme: write function:{url[:80]} for a Python function.")
        hint = " A vLLM or SGLang server is openai:// or chat://, text-generation-inference is tgi://."
        raise SpecError(f"{unknown('endpoint scheme', scheme, (*SCHEMES.names, 'run'))}{hint}")
    return SCHEMES.load(scheme)


def takes_images(url: str) -> bool:
    """Whether prompts to the endpoint at a checked address may come with images."""
    return _scheme_of(url).images


def gives_candidates(url: str) -> bool:
    """Whether the endpoint at a checked address supports beams, and candidates with log-probabilities."""
    return _scheme_of(url).candidates


def takes_constraints(url: str) -> bool:
    """Whether an endpoint at a checked address can hold replies to a constraint."""
    return _scheme_of(url).constraints


def takes_fields(url: str) -> bool:
    """Whether a person may set further fields of requests (`--request`) to the endpoint at a checked address."""
    return _scheme_of(url).fields


def default_stop(url: str) -> tuple[str, ...]:
    """Return the default stop strings of requests to a checked address."""
    return _scheme_of(url).stop


def takes_functions(url: str) -> bool:
    """Whether requests to the endpoint at a checked address may have functions, which the model calls natively."""
    return _scheme_of(url).functions


def open_endpoint(url: str, settings: EndpointSettings) -> Endpoint:
    """Return the endpoint at an address. Its first call connects or loads a model. Raises SpecError as `check_url`."""
    check_url(url)
    endpoint = _scheme_of(url).open_url(url, settings)
    return endpoint if SCHEMES.is_built_in(url.partition(":")[0]) else adapt_signature(endpoint)


def plugin_of(url: str) -> Plugin | None:
    """Return the plug-in that provides an address's scheme or function, or None if no plug-in does.

    Raises SpecError for a plug-in that cannot be imported.
    """
    scheme, _, rest = url.partition(":")
    return FUNCTIONS.plugin(rest) if scheme == "function" else SCHEMES.plugin(scheme)


def _scheme_of(url: str) -> EndpointScheme:
    return SCHEMES.load(url.partition(":")[0])
