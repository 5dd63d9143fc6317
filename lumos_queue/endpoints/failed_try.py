"""The error for a failed try of a request: its cause and consequences."""

from __future__ import annotations

from lumos_queue.errors import InfrastructureError


class TryFailed(InfrastructureError):
    """Raised when one try has failed and another may succeed."""

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0, cause: str = "broken"):
        self.status = status  #: 0: no complete reply
        self.cause = cause  #: 'unreachable' (no connection), 'late' (cancelled after too long a time), or 'broken'
        super().__init__(message, retry_after)

    @property
    def rejected(self) -> bool:
        """Whether the server is healthy but has no capacity."""
        return self.status == 429

    @property
    def is_late(self) -> bool:
        """Whether the request was cancelled although the server is alive (flights.py)."""
        return self.cause == "late"

    @property
    def is_answered(self) -> bool:
        """Whether the server was reached but failed to serve this request."""
        return self.cause == "broken" and not self.rejected

    @property
    def overloaded(self) -> bool:
        """Whether fewer requests at once would help."""
        return self.status in (429, 503, 504, 524)
