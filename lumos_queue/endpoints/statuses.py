"""Explain HTTP statuses other than 2xx: whether another try may help, and the message for people."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

#: Besides 5xx: the server, or one that it depends on (424), has no capacity or no time now.
TRANSIENT = (408, 424, 425, 429)
#: About one request, if the server understands requests; otherwise the path belongs to another program.
ABOUT_THE_REQUEST = (413, 422)

#: status: (probable meaning, remedy)
CAUSES = {
    400: ("it does not accept such a request", "check ?model= and the length of the prompts against the server's log"),
    401: ("it wants a key, or another one", "set LUMOS_API_KEYS for this host (docs/running.md)"),
    402: ("the account has no credit left", "pay the provider, or use another endpoint"),
    403: ("the key may not use it, or a firewall refuses", "check LUMOS_API_KEYS for this host (docs/running.md)"),
    404: ("nothing is served at this path, or no such model", "check the URL's scheme, prefix and ?model="),
    405: ("the path belongs to another protocol", "check the URL's scheme and prefix"),
    407: ("there is a proxy in between", "write the server's own address"),
    410: ("the path or the model was withdrawn", "check the URL's prefix and ?model="),
    413: ("the request is too long for it", "raise the server's limit, or ask for shorter prompts"),
    422: ("it does not understand the request", "check the URL's scheme and prefix"),
    451: ("it is withheld for legal reasons", "use another endpoint"),
}
_REDIRECT = "it sends requests elsewhere, and redirects are not followed"
_OTHER = ("it refuses requests", "look at the server and at any proxy in front of it")


def is_transient(status: int) -> bool:
    """Whether a status is transient, so that the request is retried."""
    return status in TRANSIENT or 500 <= status < 600


def explain(url: str, status: int, location: str = "", answer: str = "") -> str:
    """Return a line for people with host and port, status, the server's `answer`, the probable cause and the remedy."""
    if 300 <= status < 400:
        cause, remedy = _REDIRECT, f"write {_redact(location) or 'the address of the server itself'} as the endpoint"
    else:
        cause, remedy = CAUSES.get(status, _OTHER)
    quotation = f' ("{answer}")' if answer else ""
    return f"{_host(url)} answered {phrase_of(status)}{quotation}: {cause}; {remedy}"


def phrase_of(status: int) -> str:
    """Return the number with its reason phrase, if it has one."""
    return f"{status} {HTTPStatus(status).phrase}" if status in _KNOWN else str(status)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _redact(location: str) -> str:
    """Return a redirect's address without credentials and query, or '' if it cannot be read."""
    try:
        parts = urlsplit(location[:1000])
        text = f"{parts.scheme}://{_host(location)}{parts.path}" if parts.netloc else parts.path
    except ValueError:
        return ""
    return "".join(_printable(text))[:200]


def _printable(text: str) -> Iterable[str]:
    return (character for character in text if character.isascii() and character.isprintable())


_KNOWN = {status.value for status in HTTPStatus}
