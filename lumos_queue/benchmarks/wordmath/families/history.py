"""Questions for the amount at the start, and stories of two changes."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("start_unknown")
def had_before_loss(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    b, c = s.n(2, 300), s.n(2, 300)
    s.tell(f"{p} [had some {t.many}|had a number of {t.many}|had {t.many}].", f"{p.he} {s.loses(q, t, b)}.")
    s.tell(f"[Now {p.he} has {c} left|After that, {p.he} had {t(c)} left|There are {c} left].")
    s.ask(
        f"How many {t.many} did {p} have [at first|in the beginning|at the start|before that|originally]?",
        f"How many {t.many} did {p.he} [start with|begin with]?",
    )
    s.add(f"the number of {t.many} {p} had at first", c, b)


@template("start_unknown")
def had_before_gain(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, b = s.n(2, 300), s.n(2, 200)
    gain = s.gains(q, t, b)
    s.tell(f"{p} {gain}.", f"Now {p.he} has {t(a + b)}[ altogether| in all| in total|].")
    s.ask(
        f"How many {t.many} did {p} have [at first|in the beginning|before that|at the start|originally]?",
        f"How many {t.many} did {p.he} [start with|have to begin with]?",
    )
    s.sub(f"the number of {t.many} {p} had at first", a + b, b)


@template("start_unknown")
def crowd_at_first(s: Scene) -> None:
    c = s.crowd()
    b, end = s.n(2, 90), s.n(3, 200)
    if s.chance(0.5):
        s.tell(f"There were [some|a number of|many] {c.who.many} {c.location}.", f"[Then|Later] {b} of them {c.go}.")
        s.tell(f"After that, [there were {end} left|{end} were left|there were still {end} {c.who.many} {c.location}].")
        s.ask(f"How many {c.who.many} were {c.location} [at first|in the beginning|to start with]?")
        s.add(f"the number of {c.who.many} {c.location} at first", end, b)
    else:
        s.tell(f"There were [some|a number of|many] {c.who.many} {c.location}.", f"[Then|Later] {b} more {c.come}.")
        s.tell(f"After that, there were {end + b} {c.who.many} {c.location}.")
        s.ask(f"How many {c.who.many} were {c.location} [at first|in the beginning|to start with]?")
        s.sub(f"the number of {c.who.many} {c.location} at first", end + b, b)


@template("two_changes")
def comes_and_goes(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    a, b, c = s.n(5, 300), s.n(2, 100), s.n(2, 100)
    gain, loss = s.gains(q, t, b), s.loses(r, t, c)
    s.tell(f"{p} [had|has|started with] {t(a)}.")
    if s.chance(0.5):
        s.tell(f"{p.he} {gain}.", f"[Then|Later|After that,] {p.he} {loss}.")
        s.require(a + b > c)
        amount_after_gain = s.add(f"the number of {t.many} after the gain", a, b)
        s.sub(f"the number of {t.many} {p} has now", amount_after_gain, c)
    else:
        s.require(a > c)
        s.tell(f"{p.he} {loss}.", f"[Then|Later|After that,] {p.he} {gain}.")
        less = s.sub(f"the number of {t.many} after the loss", a, c)
        s.add(f"the number of {t.many} {p} has now", less, b)
    s.ask(f"How many {t.many} does {p} have [now|in the end]?", f"How many {t.many} did {p.he} end up with?")


@template("two_changes")
def two_losses(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    b, c = s.n(2, 90), s.n(2, 90)
    a = b + c + s.n(1, 90)
    first, second = s.loses(q, t, b), s.loses(r, t, c)
    s.require(first.split()[0] != second.split()[0])
    s.tell(f"{p} [had|has|started with] {t(a)}.", f"{p.he} {first} and {second}.")
    s.ask(f"How many {t.many} does {p} have [left|now]?", f"How many {t.many} [are left|remain]?")
    less = s.sub(f"the number of {t.many} after the first loss", a, b)
    s.sub(f"the number of {t.many} {p} has left", less, c)


@template("two_changes")
def on_and_off(s: Scene) -> None:
    c = s.crowd()
    a, down, up = s.n(6, 120), s.n(2, 60), s.n(2, 60)
    s.require(a > down)
    s.tell(
        f"There were {c.who(a)} {c.location}.",
        f"[Then|Later|After a while,] {down} {c.go} and {up} [others|more] {c.come}.",
    )
    s.ask(f"How many {c.who.many} are {c.location} now?", f"How many {c.who.many} were {c.location} [then|after that]?")
    less = s.sub(f"the number of {c.who.many} after some went away", a, down)
    s.add(f"the number of {c.who.many} {c.location} now", less, up)


@template("two_changes")
def two_gains(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    a, b, c = s.n(3, 200), s.n(2, 90), s.n(2, 90)
    first, second = s.days(2)
    s.tell(f"{p} had {t(a)}.", f"On {first}, {p.he} {s.gains(q, t, b)}, and on {second}, {p.he} {s.gains(r, t, c)}.")
    s.ask(f"How many {t.many} does {p} have [now|altogether|in all]?")
    s.add(f"the number of {t.many} {p} has now", a, b, c)
