"""A failed try of a request: what the server did, and what follows from that."""

from __future__ import annotations

from lumos_queue.errors import InfrastructureError


class TryFailed(InfrastructureError):
    """Raised when one try has failed and another may succeed."""

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0, cause: str = "broken"):
        self.status = status  #: 0: no reply in full
        self.cause = cause  #: 'unreachable' (no connection), 'late' (cancelled, since it took too long), or 'broken'
        super().__init__(message, retry_after)

    @property
    def rejected(self) -> bool:
        """The server is healthy, and has no capacity."""
        return self.status == 429

    @property
    def is_late(self) -> bool:
        """The request was cancelled although the server is alive (flights.py)."""
        return self.cause == "late"

    @property
    def is_answered(self) -> bool:
        """The server was reached, and failed to serve this request."""
        return self.cause == "broken" and not self.rejected

    @property
    def overloaded(self) -> bool:
        """Fewer requests at once would help."""
        return self.status in (429, 503, 504, 524)
