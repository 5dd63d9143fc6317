"""Merge fields that a person sets by `--request NAME=JSON` (`Sampling.request`) into the bodies of requests."""

from __future__ import annotations

from lumos_queue.endpoints.base import Sampling
from lumos_queue.records import Json, JsonObject

#: Fields that limit the tokens of a reply, in the supported protocols.
_LIMITS = ("max_tokens", "max_completion_tokens", "max_new_tokens")
_CONTROL_TOKENS = 512  #: enough for models that think before they reply: some servers refuse a limit that is too low


def merge_fields(body: JsonObject, fields: JsonObject) -> dict[str, Json]:
    """Return a request's body with these fields. A field replaces the body's field of that name; None removes it."""
    merged_fields = {**body, **fields}
    return {name: value for name, value in merged_fields.items() if value is not None or name not in fields}


def merge_into_control(body: JsonObject, fields: JsonObject) -> dict[str, Json]:
    """Return the body of a control with the fields of the requests that failed, and at most 512 tokens of reply."""
    limited_fields = {
        name: min(value, _CONTROL_TOKENS) if name in _LIMITS and type(value) is int else value
        for name, value in fields.items()
    }
    return merge_fields(body, limited_fields)


def count_most_tokens(sampling: Sampling) -> int:
    """Return the largest limit of reply tokens in the sampling and its request fields."""
    limits = (sampling.request.get(name) for name in _LIMITS)
    return max(sampling.max_tokens, *(limit for limit in limits if type(limit) is int), 0)
