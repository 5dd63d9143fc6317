"""Addresses of pages whose last part is a name that a person chose."""

from __future__ import annotations

from urllib.parse import quote


def address_of_audit(name: str, page: str = "") -> str:
    """Of an audit's queue, or of another page of it: `labels`. Empty for an old name that has a slash in it."""
    if "/" in name or name in ("new", ".", ".."):
        return ""
    return f"/annotate/{quote(name, safe='')}" + (f"/{page}" if page else "")
