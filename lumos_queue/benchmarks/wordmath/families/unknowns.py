"""Problems solved with an equation or by counting a list that the question writes out."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.families.compare import times
from lumos_queue.benchmarks.wordmath.program import join_words
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("number_riddle")
def times_then_plus(s: Scene) -> None:
    p = s.person()
    x, k, c = s.n(2, 60), s.n(2, 12), s.n(2, 60)
    if s.chance(0.5):
        s.tell(f"{p} thinks of a number.", f"{p.he} multiplies it by {k} and adds {c}.", f"The result is {x * k + c}.")
        description, equation = f"multiplying x by {k} and adding {c} gives {x * k + c}", f"x * {k} + {c} = {x * k + c}"
    else:
        s.require(x * k > c)
        s.tell(
            f"{p} thinks of a number.", f"{p.he} multiplies it by {k} and subtracts {c}.", f"The result is {x * k - c}."
        )
        description, equation = (
            f"multiplying x by {k} and subtracting {c} gives {x * k - c}",
            f"x * {k} - {c} = {x * k - c}",
        )
    s.ask("What is the number?", f"What number did {p} think of?", "Which number was it?")
    s.program.solve("the number", description, equation, x)


@template("number_riddle")
def plus_then_times(s: Scene) -> None:
    p = s.person()
    x, k, c = s.n(2, 60), s.n(2, 10), s.n(2, 60)
    s.tell(
        f"{p} [thinks of|picks|chooses] a number.",
        f"{p.he} adds {c} to it and multiplies the sum by {k}.",
        f"[The result is|Now {p.he} has|{p.he} gets] {(x + c) * k}.",
    )
    s.ask("What is the number?", f"Which number did {p} start with?")
    s.program.solve(
        "the number",
        f"adding {c} to x and multiplying by {k} gives {(x + c) * k}",
        f"(x + {c}) * {k} = {(x + c) * k}",
        x,
    )


@template("number_riddle", "price")
def price_with_fee(s: Scene) -> None:
    p = s.person()
    t, fee = s.pick(
        ("ticket", "a booking fee"),
        ("lesson", "an entry fee"),
        ("pizza", "a delivery fee"),
        ("book", "a shipping fee"),
        ("shirt", "a shipping fee"),
        ("meal", "a service fee"),
        ("plant", "a delivery fee"),
    )
    n = s.noun(t)
    x, k, c = s.n(2, 50), s.n(2, 15), s.n(2, 40)
    s.tell(
        f"{p} orders {n(k)}, all at the same price, and pays {fee} of {s.usd(c)}.",
        f"The [bill|total] is {s.usd(x * k + c)}.",
    )
    s.ask(f"How much does one {n.singular} cost?", f"What is the price of [one|a] {n.singular}?")
    s.program.solve(
        f"the price of one {n.singular}",
        f"multiplying x by {k} and adding {c} gives {x * k + c}",
        f"x * {k} + {c} = {x * k + c}",
        x,
        define=True,
    )


@template("ratio_parts", "things")
def together_by_times(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    k, x = s.n(2, 8), s.n(2, 60)
    total = x + k * x
    s.tell_any_order(
        f"{p} has {times(s, k)} as many {t.many} as {q}.",
        f"[Together|In total|Altogether], {p} and {q} have {t(total)}.",
    )
    who = s.pick("small", "small", "large")
    name = f"the number of {t.many} {q} has"
    small = s.program.solve(name, f"adding x and {k} times x gives {total}", f"x + x * {k} = {total}", x)
    if who == "small":
        s.ask(f"How many {t.many} does {q} have?")
    else:
        s.ask(f"How many {t.many} does {p} have?")
        s.mul(f"the number of {t.many} {p} has", small, k)


@template("ratio_parts", "things")
def together_with_difference(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    d, x = s.n(2, 60), s.n(2, 80)
    total = x + x + d
    s.tell_any_order(
        f"{p} has {t(d, 'more')} than {q}.", f"[Together|In total|Altogether], {p} and {q} have {t(total)}."
    )
    name = f"the number of {t.many} {q} has"
    small = s.program.solve(name, f"adding x, x and {d} gives {total}", f"x + x + {d} = {total}", x)
    if s.chance(0.6):
        s.ask(f"How many {t.many} does {q} have?")
    else:
        s.ask(f"How many {t.many} does {p} have?")
        s.add(f"the number of {t.many} {p} has", small, d)


@template("ratio_parts", "things")
def ratio_of_colors(s: Scene) -> None:
    t = s.thing("toy", "clothes", "plant", "school", "craft")
    first_color, second_color = s.colors(2)
    a, b, x = s.n(2, 7), s.n(2, 7), s.n(2, 30)
    s.require(a != b)
    total = (a + b) * x
    s.tell(
        f"A box has {total} {t.many}, {first_color} ones and {second_color} ones.",
        f"The ratio of {first_color} to {second_color} {t.many} is {a} to {b}.",
    )
    s.ask(f"How many {first_color} {t.many} are [in the box|there]?")
    parts = s.add("the number of parts", a, b)
    part = s.div(f"the number of {t.many} in one part", total, parts)
    s.mul(f"the number of {first_color} {t.many}", part, a)


@template("counted_list", "people", name="named_friends")
def name_friends(s: Scene) -> None:
    p = s.person()
    t = s.thing()
    friends = [friend.name for friend in s.people(s.n(2, 6))]
    k = s.n(2, 25)
    del s.cast[1:]
    s.tell(f"{p} has [some friends over|a few friends]: {join_words(friends)}.", f"{p.he} gives each of them {t(k)}.")
    s.ask(f"How many {t.many} does {p} give away [in all|altogether|in total]?", f"How many {t.many} does {p.he} need?")
    n = s.program.count(f"{p}'s friends", friends)
    s.mul(f"the number of {t.many} {p} gives away", n, k)


@template("counted_list", "time", name="named_days")
def name_days(s: Scene) -> None:
    p = s.person()
    does, do, unit = s.pick(
        ("trains", "train", "minute"),
        ("reads", "read", "page"),
        ("works", "work", "hour"),
        ("runs", "run", "mile"),
        ("studies", "study", "minute"),
        ("swims", "swim", "lap"),
        ("sews", "sew", "button"),
        ("bakes", "bake", "cake"),
    )
    t = s.noun(unit)
    days = s.days(s.n(2, 5))
    k = s.n(2, 9) if unit in ("hour", "cake", "mile") else s.n(5, 90)
    s.tell(f"{p} {does} {t(k)} every {join_words(days)}.")
    s.ask(f"How many {t.many} does {p} {do} [in a|each|every] week?", f"How many {t.many} does {p.he} {do} per week?")
    n = s.program.count("the days", days)
    s.mul(f"the number of {t.many} in a week", n, k)


@template("counted_list", "price people", name="named_items")
def name_items(s: Scene) -> None:
    p = s.person()
    items = [thing.a for thing in s.things(s.n(2, 5), "school", "clothes", "kitchen", "toy")]
    cost = s.price(1, 40)
    s.tell(f"At a sale, everything costs {s.usd(cost)}.", f"{p} buys {join_words(items)}.")
    s.ask(f"How much does {p} [pay|spend] [in all|altogether|in total]?", "What is the total cost?")
    n = s.program.count("the things bought", items)
    s.mul("the total cost", n, cost)


@template("counted_list", "people", name="counted_and_shared")
def count_and_share(s: Scene) -> None:
    p = s.person()
    t = s.thing("snack", "fruit", "toy")
    friends = [s.some(words.FEMALE + words.MALE) for _ in range(s.n(2, 6))]
    k = s.n(2, 15)
    total = len(friends) * k
    s.tell(f"{p} divides {t(total)} equally among [{p.his} cousins|{p.his} friends|the winners] {join_words(friends)}.")
    s.ask(f"How many {t.many} does each of them get?")
    n = s.program.count("the people", friends)
    s.div(f"the number of {t.many} for each of them", total, n)
