"""Retry-After: numbers, dates, and what is neither."""

from __future__ import annotations

import email.utils
import time

import pytest

from lumos_queue.util.retry_after import MAX_SECONDS, read_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("9" * 500, MAX_SECONDS),
        ("", None),
        ("soon", None),
        ("-4", None),
        ("²", None),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
        ("Fri, 99 Dec 1999 23:59:59 GMT", None),
    ],
)
def test_a_header_is_read_or_left(value, seconds):
    assert read_retry_after(value) == seconds


def test_a_date_gives_the_seconds_until_then():
    assert read_retry_after(email.utils.formatdate(time.time() + 60, usegmt=True)) == pytest.approx(60, abs=2)
