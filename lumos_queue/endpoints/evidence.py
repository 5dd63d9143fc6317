"""Collect evidence whether the request or the server causes a refusal or a failure: the answers to other items.

A refusal is a status that is neither 2xx nor transient (statuses.py). Its cause may be the request, or the server: 404
for a second while a proxy is set up anew, 401 while a key is exchanged, 400 for a wrong ?model=. A refusal alone does
not show the cause (except for a prompt that is too long: context_length.py). So

- a try *counts* against an item when another item got a 2xx from the same server before the try, and another after it.
  'After' means a request that was sent after the refusal: requests in flight at that time are no evidence.
- three tries that count show that the item is at fault: the episode ends as `infra_error`. Between two tries the
  request waits, without a slot, for the evidence about the first.
- 413 and 422 are mostly about the request: two such tries are enough. A single try is not enough, because a server that
  refuses everything for a second would then end all episodes in flight.
- after a while without requests of other items, a control is sent: a request of this client for one token, which
  counts like a request of another item. If it is answered, the rules above continue. If not, the item is given back
  uncharged. The server is left out, and probed later, like a failing server, if other items are refused as well, or
  if the same item was refused again without a 2xx to any item in between. When no server is left, the job waits.

A failure is an answer after which another try may succeed: 5xx, 424, a 2xx with an error in place of the reply, an
unreadable reply, and a broken connection. It is retried a few times at once. Before the last of these tries the request
waits for an answer to another item or a control; answers before the failure do not count. When the last try fails, too,
the row is at fault, and is claimed again after the other rows (workers/item.py). The server is down when it cannot be
reached, or when several rows and the control fail.

Answers to requests for the server's identity at the start of a slice are no evidence: a proxy may answer only these.
The evidence exists as long as the client, which is a slice. docs/decisions/0016 has the reasons.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from lumos_queue.endpoints.statuses import ABOUT_THE_REQUEST

MAX_TRIES = 3  #: tries that count: then the item is charged


@dataclass(slots=True)
class _Refusals:
    """The refusals of one item since its last 2xx."""

    timestamp: float = 0.0  #: time of the latest refusal
    before: bool = False  #: whether another item got a 2xx before that try
    open: bool = False  #: whether no other item got a 2xx for a request sent since
    again: bool = False  #: whether the item was refused twice while open
    count: int = 0  #: tries with evidence before and after


class Evidence:
    """The evidence of one server. All requests of an item have the same `item`. Times are from time.perf_counter."""

    def __init__(self) -> None:
        self._recent_items: tuple[Hashable, ...] = ()  # the latest two different items that got a 2xx
        self._refusals: dict[Hashable, _Refusals] = {}

    def note_answer(self, item: Hashable, send_time: float) -> None:
        """Note that a request of `item`, sent at `send_time`, got a 2xx."""
        self._refusals.pop(item, None)
        if item not in self._recent_items[:1]:
            self._recent_items = (item, *self._recent_items[:1])
        for refusals in self._refusals.values():
            if refusals.open and send_time >= refusals.timestamp:
                refusals.open = refusals.again = False
                refusals.count += refusals.before

    def is_serving_others(self, item: Hashable) -> bool:
        """Whether other items got a 2xx since the item's last refusal, or ever if it has none. Called before a try."""
        refusals = self._refusals.get(item)
        return not refusals.open if refusals else len(self._recent_items) > 1 or self._recent_items not in ((), (item,))

    def note_refusal(self, item: Hashable, before: bool, now: float) -> None:
        """Note a refused try of `item`. `before`: the value of `is_serving_others` before it was sent."""
        refusals = self._refusals.setdefault(item, _Refusals())
        refusals.again = refusals.open
        refusals.timestamp, refusals.before, refusals.open = now, before, True

    def note_failure(self, item: Hashable, now: float) -> None:
        """Note a failed try of `item`. Several failures in a row count against the server like a single failure."""
        refusals = self._refusals.setdefault(item, _Refusals())
        refusals.timestamp, refusals.before, refusals.open = now, False, True

    def is_open(self, item: Hashable) -> bool:
        """Whether no other item got a 2xx for a request that was sent after the item's latest refusal."""
        refusals = self._refusals.get(item)
        return refusals is not None and refusals.open

    def is_lone(self, item: Hashable) -> bool:
        """Whether the only evidence against the server is one refusal of this item."""
        return not any(
            refusals.open and (refusals.again or other_item != item) for other_item, refusals in self._refusals.items()
        )

    def blames(self, item: Hashable, status: int) -> bool:
        """Whether enough tries count against the item. `status`: HTTP status of its latest refusal."""
        refusals = self._refusals.get(item)
        if refusals is None:
            return False
        if status in ABOUT_THE_REQUEST:
            return refusals.count + (refusals.open and refusals.before) >= 2
        return refusals.count >= MAX_TRIES

    def forget(self, item: Hashable) -> None:
        self._refusals.pop(item, None)
