"""Remove passwords from URLs of databases and brokers in messages, and recognise libraries' messages with passwords.

A mistyped URL may have its password anywhere. So the password is not searched and replaced. Instead, only parts that
are certainly a scheme, a host, a port, a path, or a user before a password are printed.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, unquote, unquote_plus, urlsplit

HIDDEN = "***"
NOT_A_URL = "no URL (it is hidden, as it may contain a password)"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,39})://")
_HOST = re.compile(r"(?:(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?)?")
_PATH = re.compile(r"(?:[A-Za-z0-9_./~-]|%[0-9A-Fa-f]{2})*")
_USER = re.compile(r"[A-Za-z0-9_.-]+")
_PIECES = re.compile(r"[^:/?#@&=;,\[\]\s]+")
#: Options of a database's or a broker's URL whose values are not secret and occur in messages of drivers.
_OPEN_OPTIONS = frozenset(
    (
        *("application_name", "channel_binding", "client_encoding", "connect_timeout", "gssencmode", "host"),
        *("keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "port", "requirepeer"),
        *("ssl_cert_reqs", "ssl_check_hostname", "sslmode", "sslnegotiation", "sslsni", "target_session_attrs"),
        *("hostaddr", "tcp_user_timeout"),
    )
)
_ADDRESS_OPTIONS = ("host", "hostaddr", "port")


def hide_secrets(url: str) -> str:
    """Return a URL for messages: `postgresql://lumos:***@HOST:5432/NAME`, without passwords and most options.

    For a text that is not such a URL, return only its scheme, or NOT_A_URL. A list of brokers for Kombu, which has
    semicolons, stays a list.
    """
    urls = url.split(";")
    if len(urls) > 1 and all(_SCHEME.match(part) for part in urls):
        return ";".join(hide_secrets(part) for part in urls)
    scheme = _SCHEME.match(url)
    if not scheme:
        return NOT_A_URL
    parts = _split(url)
    if not parts:
        return f"{scheme[1]}://{HIDDEN}"
    user, separator, _ = parts.netloc.rpartition("@")
    return (
        f"{scheme[1]}://{_hide_login(parts.scheme, user)}{separator}{_host(parts)}{parts.path}{_address_options(parts)}"
    )


def quotes_secret(text: str, url: str) -> bool:
    """Return whether a library's message about a URL contains a part of the URL that may be a password."""
    return any(_contains(text, secret) for secret in _secrets(url))


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None if a password may be in another part than the login."""
    if not _SCHEME.match(url):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme.startswith("sqlite") and not parts.netloc:  # the path of a file may have any name
        return parts
    is_clear = _HOST.fullmatch(_host(parts)) and _PATH.fullmatch(parts.path)
    return parts if is_clear and "@" not in parts.query and not parts.fragment else None


def _host(parts: SplitResult) -> str:
    """Return the host and the port."""
    return parts.netloc.rpartition("@")[2]


def _address_options(parts: SplitResult) -> str:
    """Return the options with the server's address, as in a URL: `?host=/run/postgresql`."""
    options = parse_qsl(parts.query)
    visible = [f"{name}={value}" for name, value in options if name in _ADDRESS_OPTIONS and _PATH.fullmatch(value)]
    return "?" + "&".join(visible) if visible else ""


def _hide_login(scheme: str, login: str) -> str:
    """Return the login with a hidden password. A word alone is hidden, because it may itself be a password."""
    user, colon, password = login.partition(":")
    if not login:
        return ""
    is_user = colon and (password or scheme.startswith("postgres")) and _USER.fullmatch(user)
    return f"{user}:{HIDDEN}" if is_user else HIDDEN


def _secrets(url: str) -> set[str]:
    """Return every part of a URL that may be secret, as written and decoded."""
    secrets: set[str] = set()
    for part in url.split(";"):
        parts = _split(part)
        if not parts:
            secrets.update(_PIECES.findall(part.removeprefix(scheme[0] if (scheme := _SCHEME.match(part)) else "")))
            continue
        login = parts.netloc.rpartition("@")[0]
        user, colon, password = login.partition(":")
        secrets.update((password, *_PIECES.findall(password)) if colon else ())
        secrets.update(value for name, value in parse_qsl(parts.query) if name.lower() not in _OPEN_OPTIONS)
        if user and not (_USER.fullmatch(user) and (password or parts.scheme.startswith("postgres"))):
            secrets.add(user)
    secrets |= {unquote(secret) for secret in secrets} | {unquote_plus(secret) for secret in secrets}
    return {secret for secret in secrets if secret}


def _contains(text: str, secret: str) -> bool:
    """Return whether a text contains a secret; a short secret only as a whole word."""
    if len(secret) > 3:
        return secret in text
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])", text) is not None
