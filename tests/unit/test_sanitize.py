"""Texts that no database refuses: also those for which no pattern is tried."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.replies import MAX_COUNT, count
from lumos_queue.util.sanitize import storable


@pytest.mark.parametrize(
    ("text", "kept", "replaced"),
    [
        ("", "", 0),
        ("plain\x01\n", "plain\x01\n", 0),
        ("a\x00b\x00", "a\ufffdb\ufffd", 2),
        ("caf\u00e9 \U0001f600", "caf\u00e9 \U0001f600", 0),
        ("\u00e9\x00\ud800", "\u00e9\ufffd\ufffd", 2),
    ],
)
def test_nul_and_lone_surrogates_are_replaced(text, kept, replaced):
    assert storable(text) == (kept, replaced)


@pytest.mark.parametrize(
    ("told", "taken", "noted"),
    [("0", 0, 0), ("17", 17, 0), ("0017", 17, 0), ("9999999999", MAX_COUNT, 1), ("\u0661\u0662", 0, 1), ("-1", 0, 1)],
)
def test_counts_that_servers_write_as_text(told, taken, noted):
    notes: list[str] = []
    assert (count(told, "tokens", notes), len(notes)) == (taken, noted)
