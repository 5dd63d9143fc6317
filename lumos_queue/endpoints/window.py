"""Find the useful number of requests at once by a window, which adapts to the server's capacity.

As in TCP (M. Allman et al.: RFC 5681) the window doubles each round trip up to a threshold, grows by an eighth beyond,
and is halved when the server refuses. As in Netflix's Gradient2 (E. Landau et al.: Performance Under Load, 2018)
latency also ends the growth: a round's mean latency is compared with that of an earlier round at a smaller window. A
model server that batches gets slower with each request although more requests still help, so a higher latency alone
does not end the growth. If latency has grown nearly as much as the window, the added requests only wait. Then the
window shrinks by the gradient, old latency / new latency, to the size at which requests begin to wait.

Lengths of replies vary, so each round averages as many replies as the window has slots.

A window does not grow in a round in which a request was late (flights.py), and does not shrink because of it: a server
with four slots that needs two minutes for each reply must still get four requests at once.
"""

from __future__ import annotations

FIRST = 8  #: requests at once at the start, for the smallest servers; three round trips to 64
JUDGED_AT = 2.0  #: growth of the window at which latency is judged: a smaller effect could be chance
QUEUEING = 0.6  #: share of the window's growth that latency has grown: from here the server only queues
BELOW = 0.85  #: share of the estimated beginning of the queue: otherwise errors would add up to an ever longer queue


class Window:
    """A window: at most `size` requests in flight, from 1 to `limit`. Times are seconds of one monotonic clock."""

    def __init__(self, limit: int):
        self._limit = float(limit)
        self.size = min(float(FIRST), self._limit)
        self._doubles_to = self._limit  # beyond it growth is slow
        self._stopped_by_latency = False
        self._cut_time = float("-inf")
        self._earlier_round: tuple[float, float] | None = None  # size and mean latency of an earlier round
        self._begin(float("-inf"))

    def _begin(self, now: float) -> None:
        self._round_start, self._replies, self._seconds, self._is_full, self._late = now, 0, 0.0, False, False

    def set_limit(self, limit: int) -> None:
        """Have at most `limit` requests in flight from now on."""
        if limit != self._limit:
            self._limit = float(limit)
            self.size = min(self.size, self._limit)
            self._doubles_to = self._limit

    def start(self, size: float) -> None:
        """Begin again with `size`, which other processes have measured. Grow slowly beyond it."""
        self.size = max(1.0, min(size, self._limit))
        self._doubles_to = min(self._limit, max(self.size, FIRST))
        self._earlier_round = None

    def note_late(self) -> None:
        """Note a late request: the window does not grow in this round."""
        self._late = True

    def note_full(self) -> None:
        """Note that a request waits because the window is full. The window only grows after such a note."""
        self._is_full = True

    def note_reply(self, send_time: float, now: float) -> bool:
        """Note a reply to a request sent at `send_time`. Return whether the window has changed."""
        if send_time < self._round_start:
            return False  # of the round before, at another size
        self._replies += 1
        self._seconds += now - send_time
        if self._replies < self.size:
            return False
        before, was_full, late, latency = self.size, self._is_full, self._late, self._seconds / self._replies
        self._begin(now)
        if was_full:
            self._judge(latency, may_grow=not late)
        return self.size != before

    def _judge(self, latency: float, may_grow: bool) -> None:
        if self._earlier_round is None:
            self._earlier_round = self.size, latency
        else:
            size, seconds = self._earlier_round
            growth = self.size / size
            if growth >= JUDGED_AT:
                if latency / seconds - 1 >= QUEUEING * (growth - 1):
                    self._shrink(max(0.5, seconds / latency) * BELOW)
                    self._stopped_by_latency = True
                    return
                self._earlier_round = self.size, latency
                if self._stopped_by_latency:  # by chance, or the server has capacity again
                    self._doubles_to = self._limit
        if may_grow:
            self.size += self.size if self.size < self._doubles_to else max(1.0, self.size / 8)
            self.size = min(self.size, self._limit)

    def note_overload(self, send_time: float, now: float, in_flight: int) -> None:
        """Halve the window: the server had no capacity for a request. Ignore requests sent before the last halving."""
        if send_time >= self._cut_time:
            self._cut_time = now
            self.size = min(self.size, max(1.0, float(in_flight)))
            self._shrink(0.5)
            self._begin(now)

    def _shrink(self, factor: float) -> None:
        self._stopped_by_latency = False
        self.size = max(1.0, self.size * factor)
        self._doubles_to = min(self._limit, max(self.size, FIRST))
        self._earlier_round = None
