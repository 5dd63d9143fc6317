"""Whose fault is a refusal or a failure: the request's or the server's? One server's other answers tell.

A refusal is a status that is neither 2xx nor worth another try as it is (statuses.py): 404 for a second while a proxy
is set up anew, 401 while a key is exchanged, 400 for a wrong ?model=. A refusal alone does not say which (but for a
prompt that is too long: context_length.py). So

- one try *counts* against an item when another item got a 2xx from the same server before it and another after it.
  'After' is a request that was sent when the refusal had come: what was under way before says nothing.
- three tries that count are the item's own fault: the episode ends as `infra_error`. Between two tries the request
  waits, without a slot, for the evidence about the first.
- 413 and 422 are mostly about the request: two such tries are enough. One is not, or a second of such replies to
  everything would end all that is in flight.
- when no other item has asked for a while, a control is sent: a request made by this client, of one token, which
  counts like another item's. If it is answered, evidence goes on as above. If not, the item is given back uncharged; if
  others are refused as well, or the same item was refused again with no 2xx to any item in between, the server is left
  out, and probed later, like one that fails. When none is left, the job waits.

A failure is an answer that promises another try: 5xx, 424, a 2xx with an error in place of the reply, what cannot be
read, and a connection that breaks. It is tried again a few times at once. Before the last of these tries the same
evidence is waited for, and what was answered before does not matter. When that try fails, too, it is the fault of the
row, which is claimed again after the others (workers/item.py). The server is down when it cannot be reached, and when
several rows and the control fail.

Answers to the questions that a slice begins with (`identity`) are no evidence: a proxy may serve only those. What is
known is kept as long as the client, for a slice. docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from lumos_queue.endpoints.statuses import ABOUT_THE_REQUEST

MAX_TRIES = 3  #: that count: then the item is charged


@dataclass(slots=True)
class _Refusals:
    """The refusals of one item since its last 2xx."""

    at: float = 0.0  #: of the latest one
    before: bool = False  #: whether another item got a 2xx before that try
    open: bool = False  #: no other item got a 2xx for a request sent since
    again: bool = False  #: refused twice while open
    count: int = 0  #: tries with evidence before and after


class Evidence:
    """What one server's answers say. An item is a value that all its requests have. Times are perf_counter's."""

    def __init__(self) -> None:
        self._recent_items: tuple[Hashable, ...] = ()  # the latest two different items that got a 2xx
        self._refusals: dict[Hashable, _Refusals] = {}

    def note_answer(self, item: Hashable, send_time: float) -> None:
        """A request of `item`, sent at `sent`, got a 2xx."""
        self._refusals.pop(item, None)
        if item not in self._recent_items[:1]:
            self._recent_items = (item, *self._recent_items[:1])
        for refusals in self._refusals.values():
            if refusals.open and send_time >= refusals.at:
                refusals.open = refusals.again = False
                refusals.count += refusals.before

    def is_serving_others(self, item: Hashable) -> bool:
        """Whether others got a 2xx since the item's last refusal, or at all. To be asked before a try is sent."""
        refusals = self._refusals.get(item)
        return not refusals.open if refusals else len(self._recent_items) > 1 or self._recent_items not in ((), (item,))

    def note_refusal(self, item: Hashable, before: bool, now: float) -> None:
        """A try of `item` was refused; `before` is what `is_serving_others` said before it was sent."""
        refusals = self._refusals.setdefault(item, _Refusals())
        refusals.again = refusals.open
        refusals.at, refusals.before, refusals.open = now, before, True

    def note_failure(self, item: Hashable, now: float) -> None:
        """A try of `item` has failed. Several in a row speak against the server no more than one does."""
        refusals = self._refusals.setdefault(item, _Refusals())
        refusals.at, refusals.before, refusals.open = now, False, True

    def is_open(self, item: Hashable) -> bool:
        """Whether evidence about its latest refusal is still missing."""
        refusals = self._refusals.get(item)
        return refusals is not None and refusals.open

    def is_lone(self, item: Hashable) -> bool:
        """Whether all that speaks against the server is one refusal of this item."""
        return not any(
            refusals.open and (refusals.again or other_item != item) for other_item, refusals in self._refusals.items()
        )

    def blames(self, item: Hashable, status: int) -> bool:
        """Whether enough tries count against the item, whose latest refusal had this status."""
        refusals = self._refusals.get(item)
        if refusals is None:
            return False
        if status in ABOUT_THE_REQUEST:
            return refusals.count + (refusals.open and refusals.before) >= 2
        return refusals.count >= MAX_TRIES

    def forget(self, item: Hashable) -> None:
        self._refusals.pop(item, None)
