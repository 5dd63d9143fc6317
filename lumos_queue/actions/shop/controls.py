"""The names of the shop's buttons. No option of a product may have the same name: it would replace the button."""

from __future__ import annotations

BACK, PREVIOUS, NEXT, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews")
CONTROLS = frozenset(name.lower() for name in (BACK, PREVIOUS, NEXT, BUY, *SUB_PAGES))
