"""A generator that is sent replies, as a loop: what it is sent, what it returns, and that it is closed."""

from __future__ import annotations

import pytest

from lumos_queue.util.exchange import Exchange


def test_each_reply_is_sent_for_what_was_yielded_before_it():
    def sums():
        first = yield "first"
        second = yield "second"
        return first + second

    exchange, wanted = Exchange(sums()), []
    for number, name in enumerate(exchange, start=1):
        wanted.append(name)
        exchange.reply = number
    assert (wanted, exchange.returned) == (["first", "second"], 3)


def test_a_generator_that_yields_nothing_returns_at_once():
    def nothing():
        return "done"
        yield

    exchange = Exchange(nothing())
    assert list(exchange) == [] and exchange.returned == "done"


@pytest.mark.parametrize("how", ["break", "raise"])
def test_a_loop_that_is_left_early_closes_the_generator(how):
    closed = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    def leave():
        for _ in Exchange(endless()):
            if how == "raise":
                raise KeyError
            break

    if how == "raise":
        with pytest.raises(KeyError):
            leave()
    else:
        leave()
    assert closed == [True]


def test_what_a_generator_raises_is_raised_by_the_loop():
    def broken():
        yield 1
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        list(Exchange(broken()))


def test_an_error_that_is_set_is_raised_where_the_generator_waits_once():
    def careful():
        try:
            yield "wanted"
        except KeyError:
            reply = yield "instead"
            return reply

    exchange, wanted = Exchange(careful()), []
    for one in exchange:
        wanted.append(one)
        if one == "wanted":
            exchange.error = KeyError()
        else:
            exchange.reply = "taken"
    assert (wanted, exchange.returned) == (["wanted", "instead"], "taken")
