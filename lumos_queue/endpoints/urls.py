"""Read the addresses of endpoints: servers, model and path."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlsplit

from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import usual_host
from lumos_queue.util.launch_folder import from_launch

#: The protocol of a scheme's requests; the other schemes name files.
TRANSPORTS = {"tgi": "http", "tgis": "https", "openai": "http", "openais": "https", "chat": "http", "chats": "https"}
#: Schemes whose address names the model.
_NAMED = ("openai", "openais", "chat", "chats")
#: Schemes of chat servers, whose models are instructed.
CHAT_SCHEMES = ("chat", "chats")


def scheme_of(url: str) -> str:
    """Return the scheme of an address: the text before its first colon."""
    return url.partition(":")[0]


def local_path(url: str) -> Path:
    """Return the path in `local:PATH` or `scripted:PATH`. Raises SpecError if there is none."""
    rest = url.partition(":")[2]
    if not rest or "\0" in rest:
        raise SpecError("No path in the endpoint's URL: local: and scripted: need a path, as in local:models/starter.")
    return from_launch(Path(rest).expanduser())


def base_urls(url: str) -> list[str]:
    """Return the http or https address of each replica in a checked URL of a server, without query and final slash.

    In URLs of the OpenAI protocol, /v1 at the end is removed, because the paths of requests contain it.
    """
    replicas = [urlsplit(replica) for replica in _replicas(url)]
    return [f"{TRANSPORTS[parts.scheme]}://{parts.netloc}{_prefix(parts)}" for parts in replicas]


def _prefix(parts: SplitResult) -> str:
    path = parts.path.rstrip("/")
    return path.removesuffix("/v1").rstrip("/") if parts.scheme in _NAMED else path


def model_name(url: str) -> str:
    """Return the `model` in the query of a checked openai or chat URL, or ''. A + in it means +, not a space."""
    query = urlsplit(_replicas(url)[0]).query.replace("+", "%2B")
    return dict(parse_qsl(query)).get("model", "")


def _replicas(url: str) -> list[str]:
    """Return a URL for each host of a URL in which commas separate hosts."""
    scheme, slashes, rest = url.partition("://")
    hosts = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return [scheme + slashes + host + rest[len(hosts) :] for host in hosts.split(",")]


def check_address(scheme: str, url: str) -> None:
    """Raise SpecError if the URL of a server is wrong. The message never repeats credentials."""
    form = f"{scheme}://HOST:PORT[,HOST:PORT]"
    form += "[/PREFIX][?model=NAME]" if scheme in _NAMED else "[/PREFIX]"
    if "@" in url.partition("?")[0]:
        # Before parsing: a parser's message could quote the secret.
        raise SpecError(
            f"Credentials in an endpoint's URL are refused: write {form}; keys belong into the file of LUMOS_API_KEYS."
        )
    replicas = _replicas(url)
    for replica in replicas:
        parts = _split(replica, form)
        if not parts.hostname:
            raise SpecError(f"No host in the endpoint's URL: expected {form}.")
        allowed_names: set[str] = {"model"} if scheme in _NAMED else set()
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        if parts.fragment or (parts.query and not pairs) or any(name not in allowed_names for name, _ in pairs):
            # The message does not repeat the rest, which may be a key.
            raise SpecError(f"The endpoint's URL says more than {form}; a key belongs into the file of LUMOS_API_KEYS.")
        if len(pairs) > 1 or any(not value for _, value in pairs):
            raise SpecError(f"The endpoint's URL must name one model: expected {form}.")
    if len(set(base_urls(url))) < len(replicas):
        raise SpecError(f"The endpoint's URL names the same replica twice: expected {form}.")


def _split(url: str, form: str) -> SplitResult:
    wrong = SpecError(f"The endpoint's URL cannot be read: expected {form}.")
    if any(not character.isprintable() or character.isspace() for character in url):
        raise wrong
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise wrong from None
    if not url.startswith(f"{parts.scheme}://"):
        raise wrong
    try:
        usual_host(parts.hostname or "")
    except ValueError:
        raise wrong from None
    return parts
