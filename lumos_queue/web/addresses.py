"""Addresses of pages that contain a name chosen by a person."""

from __future__ import annotations

from urllib.parse import quote


def address_of_audit(name: str, page: str = "") -> str:
    """Return the address of an audit's queue, or of another of its pages (`labels`); '' for a name with a slash."""
    if "/" in name or name in ("new", ".", ".."):
        return ""
    return f"/annotate/{quote(name, safe='')}" + (f"/{page}" if page else "")
