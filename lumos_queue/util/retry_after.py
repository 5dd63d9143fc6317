"""Read the Retry-After header of an HTTP reply (RFC 9110, 10.2.3)."""

from __future__ import annotations

import email.utils
import time

MAX_SECONDS = 3600.0  #: the limit of a pause that a server requests


def read_retry_after(value: str) -> float | None:
    """Return the seconds, 0 to MAX_SECONDS, that a header requests as a number or an HTTP date; None for other text."""
    value = value.strip()
    try:
        if value[:1].isdigit():
            seconds = float(value)
        else:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_SECONDS)
