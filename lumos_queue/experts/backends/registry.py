"""Resolve the URL of a backend to its facts, when a job is submitted and again when the job runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from lumos_queue.errors import SpecError, unknown
from lumos_queue.experts.backends import chat, checkpoint, own, package, remote
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.backends.remote_server import SCHEMES
from lumos_queue.experts.catalogue import EXPERTS

_SCHEMES: dict[str, Callable[[str, str], BackendFacts]] = {
    "own": own.find,
    "package": package.find,
    "hf": checkpoint.find,
}


def resolve(expert: str, url: str) -> BackendFacts:
    """Return the facts of the backend of an expert.

    Raises SpecError for an unknown expert or URL, and ('not run: needs …') for missing modules or weights.
    """
    if expert not in EXPERTS:
        raise unknown("expert", expert, EXPERTS)
    scheme, colon, _ = url.partition(":")
    if colon and scheme in SCHEMES:
        return remote.find(expert, url)
    if chat.is_chat(url):
        return chat.find(expert, url)
    if not colon or scheme not in _SCHEMES:
        raise SpecError(
            f"'{url[:80]}' names no backend: expected oracle:, own:, own:FOLDER, package:NAME, hf:ID, http://HOST or "
            "chat://HOST:PORT?model=NAME"
        )
    return _find_here(scheme, expert, url)


@lru_cache(maxsize=256)
def _find_here(scheme: str, expert: str, url: str) -> BackendFacts:
    """Return the facts. They are cached in this process, because their digest hashes the weights."""
    return _SCHEMES[scheme](expert, url)
