"""Reasons for which the explorer does not carry out a request now."""

from __future__ import annotations

RETRY_SECONDS = 5


class Busy(Exception):
    """Raised for a request that cannot be served now. The text states the reason."""

    def __init__(self, text: str, seconds: int = RETRY_SECONDS):
        """`seconds`: after which the request may be repeated (Retry-After)."""
        super().__init__(text)
        self.seconds = seconds


class ClientGone(Exception):
    """Raised inside work whose client has closed the connection."""
