"""Comparisons of two quantities: their difference or their ratio."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.families.combine import DEEDS
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

TIMES = {
    2: "[twice|twice|two times|2 times]",
    3: "[three times|3 times]",
    4: "[four times|4 times]",
    5: "[five times|5 times]",
}


def times(s: Scene, k: int) -> str:
    """Return a phrase for use before 'as many as', such as 'three times'."""
    return s.say(TIMES[k]) if k in TIMES else f"{k} times"


@template("compare_difference", "things")
def who_has_more(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a = s.n(4, 400)
    b = s.n(2, a - 2)
    s.tell_any_order(f"{p} has {t(a)}.", f"{q} has {t(b)}.")
    s.ask(
        f"How many more {t.many} does {p} have than {q}?",
        f"How many fewer {t.many} does {q} have than {p}?",
        f"{p} has how many more {t.many} than {q}?",
        f"What is the difference between the numbers of {t.many} they have?",
    )
    s.sub(f"the difference between {p}'s {t.many} and {q}'s {t.many}", a, b)


@template("compare_difference", "things")
def who_did_more(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    a = s.n(4, 300)
    b = s.n(2, a - 2)
    first, second = ((p, a), (q, b)) if s.chance(0.5) else ((q, b), (p, a))
    s.tell(
        f"{first[0]} {did} {t(first[1])}[ and|, but|, while] {second[0]} {did} {s.pick(t(second[1]), str(second[1]))}."
    )
    s.ask(f"How many more {t.many} did {p} {do} than {q}?", f"How many fewer {t.many} did {q} {do} than {p}?")
    s.sub(f"the difference between {p}'s {t.many} and {q}'s {t.many}", a, b)


@template("compare_difference", "things")
def more_of_one_kind(s: Scene) -> None:
    x, y = s.things(2)
    p = s.person()
    a = s.n(4, 300)
    b = s.n(2, a - 2)
    kinds = f"{x(a)} and {y(b)}" if s.chance(0.5) else f"{y(b)} and {x(a)}"
    location = s.pick(
        f"in {p}'s [kitchen|room|house|bag]", f"in the {s.container().singular}", "in the shop", "on the table"
    )
    s.tell(f"There are {kinds} {location}.")
    s.ask(f"How many more {x.many} than {y.many} are there?", f"How many fewer {y.many} are there than {x.many}?")
    s.sub(f"the difference between the {x.many} and the {y.many}", a, b)


@template("compare_difference", "height distance time price age", name="measured_difference")
def measure_difference(s: Scene) -> None:
    p, q = s.people(2)
    unit, has, comparative, less, low, high = s.pick(
        ("centimeters tall", "is", "taller", "shorter", 90, 195),
        ("inches tall", "is", "taller", "shorter", 40, 80),
        ("pounds", "weighs", "heavier", "lighter", 40, 190),
        ("kilograms", "weighs", "heavier", "lighter", 20, 95),
        ("years old", "is", "older", "younger", 5, 90),
    )
    a, b = s.n(low, high), s.n(low, high)
    s.require(a > b)
    noun = unit.split()[0]
    s.tell(f"{p} {has} {a} {unit}[. {q}| and {q}|, while {q}] {has} {b} {unit}.")
    s.ask(
        f"How many {noun} {comparative} is {p} than {q}?",
        f"How many {noun} {less} is {q} than {p}?",
        f"By how many {noun} is {p} {comparative} than {q}?",
    )
    s.sub(f"the difference in {noun} between {p} and {q}", a, b)


@template("compare_difference", "price")
def price_difference(s: Scene) -> None:
    x, y = s.things(2)
    a = s.price(4, 200)
    b = s.price(2, 150)
    s.require(a - b > 1 and (isinstance(a, int) == isinstance(b, int)))
    s.tell(f"{x.a} costs {s.usd(a)}[ and|, while|, but] {y.a} costs {s.usd(b)}.")
    s.ask(f"How much more does {x.a} cost than {y.a}?", f"How much cheaper is {y.a} than {x.a}?")
    s.sub("the difference between the two prices", a, b)


@template("compare_more", "things")
def has_more_than(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, d = s.n(4, 300), s.n(2, 100)
    s.tell(f"{p} has {t(a)}.")
    if s.chance(0.5):
        s.tell(f"{q} has {s.pick(t(d, 'more'), f'{d} more')} than {p}[| does].")
        s.add(f"the number of {t.many} {q} has", a, d)
    else:
        s.require(a - d > 0)
        s.tell(f"{q} has {s.pick(t(d, 'fewer'), f'{d} fewer', f'{d} less')} than {p}[| does].")
        s.sub(f"the number of {t.many} {q} has", a, d)
    s.ask(
        f"How many {t.many} does {q} have?", f"How many does {q} have?", f"What is the number of {t.many} that {q} has?"
    )


@template("compare_more", "things")
def more_said_backwards(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, d = s.n(4, 300), s.n(2, 100)
    s.tell(f"{p} has {t(a)}.")
    if s.chance(0.5):
        s.require(a - d > 0)
        s.tell(
            f"[That is {d} more than {q} has|{p} has {t(d, 'more')} than {q}|This is {d} more {t.many} than {q} has]."
        )
        s.sub(f"the number of {t.many} {q} has", a, d)
    else:
        s.tell(
            f"[That is {d} fewer than {q} has|{p} has {t(d, 'fewer')} than {q}|This is {d} fewer {t.many} than "
            f"{q} has]."
        )
        s.add(f"the number of {t.many} {q} has", a, d)
    s.ask(f"How many {t.many} does {q} have?", f"How many does {q} have?")


@template("compare_more")
def did_more_than(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    a, d = s.n(4, 200), s.n(2, 90)
    s.tell(f"{p} {did} {t(a)}[ on {s.days(1)[0]}|| last week].")
    if s.chance(0.5):
        s.tell(f"{q} {did} {s.pick(t(d, 'more'), f'{d} more')} than {p}.")
        s.add(f"the number of {t.many} {q} {did}", a, d)
    else:
        s.require(a - d > 0)
        s.tell(f"{q} {did} {s.pick(t(d, 'fewer'), f'{d} fewer')} than {p}.")
        s.sub(f"the number of {t.many} {q} {did}", a, d)
    s.ask(f"How many {t.many} did {q} {do}?", f"How many did {q} {do}?")


@template("times_as_many", "things")
def has_times_as_many(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    k, a = s.n(2, 9), s.n(2, 90)
    s.tell_any_order(f"{p} has {t(a)}.", f"{q} has {times(s, k)} as many {t.many} as {p}.")
    s.ask(f"How many {t.many} does {q} have?", f"How many does {q} have?")
    s.mul(f"the number of {t.many} {q} has", a, k)


@template("times_as_many", "things")
def times_said_backwards(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    k, b = s.n(2, 9), s.n(2, 60)
    s.tell(
        f"{p} has {t(k * b)}.",
        f"[That is {times(s, k)} as many as {q} has|{p} has {times(s, k)} as many {t.many} as {q}].",
    )
    s.ask(f"How many {t.many} does {q} have?", f"How many does {q} have?")
    s.div(f"the number of {t.many} {q} has", k * b, k)


@template("times_as_many", "things")
def has_part_as_many(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    k, b = s.pick(2, 2, 3, 4), s.n(2, 60)
    part = {2: "half", 3: "a third", 4: "a quarter"}[k]
    s.tell(f"{p} {did} {t(k * b)}.", f"{q} {did} {part} as many{s.pick('', f' {t.many}')} as {p}.")
    s.ask(f"How many {t.many} did {q} {do}?", f"How many did {q} {do}?")
    s.div(f"the number of {t.many} {q} {did}", k * b, k)


@template("times_as_many", "things")
def how_many_times(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    k, b = s.n(2, 12), s.n(2, 40)
    s.tell_any_order(f"{p} has {t(k * b)}.", f"{q} has {t(b)}.")
    s.ask(f"How many times as many {t.many} does {p} have as {q}?", f"{p} has how many times as many {t.many} as {q}?")
    s.div(f"how many times {q}'s {t.many} fit into {p}'s {t.many}", k * b, b)


@template("compare_total", "things")
def both_together(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, d = s.n(4, 200), s.n(2, 90)
    s.tell(f"{p} has {t(a)}.")
    if s.chance(0.5):
        s.tell(f"{q} has {s.pick(t(d, 'more'), f'{d} more')} than {p}.")
        second_amount = s.add(f"the number of {t.many} {q} has", a, d)
    else:
        s.require(a - d > 0)
        s.tell(f"{q} has {s.pick(t(d, 'fewer'), f'{d} fewer')} than {p}.")
        second_amount = s.sub(f"the number of {t.many} {q} has", a, d)
    s.ask(
        f"How many {t.many} do they have [together|altogether|in all]?",
        f"How many {t.many} do {p} and {q} have in total?",
    )
    s.add(f"the number of {t.many} {p} and {q} have together", a, second_amount)


@template("compare_total", "things")
def both_by_times(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    k, a = s.n(2, 6), s.n(2, 60)
    first_day, second_day = s.days(2)
    if s.chance(0.5):
        s.tell(f"{p} {did} {t(a)}.", f"{q} {did} {times(s, k)} as many.")
        s.ask(
            f"How many {t.many} did they {do} [together|altogether|in all]?",
            f"How many {t.many} did {p} and {q} {do} in total?",
        )
        name, whole = f"the number of {t.many} {q} {did}", f"the number of {t.many} {p} and {q} {did} together"
    else:
        s.tell(
            f"On {first_day}, {p} {did} {t(a)}.",
            f"On {second_day}, {p.he} {did} {times(s, k)} as many{s.pick('', f' as on {first_day}')}.",
        )
        s.ask(f"How many {t.many} did {p} {do} [altogether|in all|on the two days together]?")
        name, whole = f"the number of {t.many} on {second_day}", f"the number of {t.many} on both days"
    product = s.mul(name, a, k)
    s.add(whole, a, product)


@template("compare_total", "things")
def gap_by_times(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    k, a = s.n(2, 6), s.n(2, 60)
    s.tell(f"{p} has {t(a)}.", f"{q} has {times(s, k)} as many{s.pick('', f' as {p}')}.")
    s.ask(f"How many more {t.many} does {q} have than {p}?", f"How many fewer {t.many} does {p} have than {q}?")
    product = s.mul(f"the number of {t.many} {q} has", a, k)
    s.sub(f"the difference between {q}'s {t.many} and {p}'s {t.many}", product, a)
