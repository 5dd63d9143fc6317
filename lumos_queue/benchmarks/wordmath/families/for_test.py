"""Families for the test split: their structures are new, but their words and operations are those of training."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.families.combine import UNITS_DONE
from lumos_queue.benchmarks.wordmath.families.groups import PACKED
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("shared_after_loss", "people things")
def loss_then_share(s: Scene) -> None:
    p, q = s.people(2)
    t, g = s.thing(), s.group()
    n, k, loss = s.n(2, 12), s.n(2, 25), s.n(2, 60)
    s.tell(f"{p} had {t(n * k + loss)}.", f"{p.he} {s.loses(q, t, loss)} and shared the rest equally among {g(n)}.")
    s.ask(f"How many {t.many} did each {g.singular} get?", f"How many did each {g.singular} get?")
    rest = s.sub(f"the number of {t.many} {p} had left", n * k + loss, loss)
    s.div(f"the number of {t.many} for each {g.singular}", rest, n)


@template("shared_after_loss", "pages time")
def rest_of_the_book(s: Scene) -> None:
    p = s.person()
    did, do, unit = s.pick(*UNITS_DONE)
    u = s.noun(unit)
    a, b, n, k = s.n(2, 25), s.n(2, 7), s.n(2, 9), s.n(2, 30)
    total = a * b + n * k
    s.tell(f"{p} [plans|wants|has] to {do} {u(total)}.", f"For the first {b} days, {p.he} {did} {u(a)} a day.")
    s.tell(f"{p.he} wants to finish the rest in {n} days, with the same number each day.")
    s.ask(f"How many {u.many} must {p} {do} on each of these days?")
    first_part = s.mul(f"the number of {u.many} {p} {did}", a, b)
    rest = s.sub(f"the number of {u.many} left", total, first_part)
    s.div(f"the number of {u.many} for each day", rest, n)


@template("gap_of_groups", "things")
def more_in_containers(s: Scene) -> None:
    p, q = s.people(2)
    c, t = s.container(), s.thing(*PACKED)
    d = c if s.chance(0.6) else s.container()
    n, k, m, j = s.n(2, 25), s.n(2, 25), s.n(2, 25), s.n(2, 25)
    s.require(n * k > m * j + 1)
    s.tell_any_order(f"{p} has {c(n)} with {t(k)} in each.", f"{q} has {d(m)} with {t(j)} in each.")
    s.ask(f"How many more {t.many} does {p} have than {q}?", f"How many fewer {t.many} does {q} have than {p}?")
    a = s.mul(f"the number of {t.many} {p} has", n, k)
    b = s.mul(f"the number of {t.many} {q} has", m, j)
    s.sub(f"the difference between {p}'s {t.many} and {q}'s {t.many}", a, b)


@template("gap_of_groups", "price time")
def who_earns_more(s: Scene) -> None:
    p, q = s.people(2)
    a, h, b, k = s.n(5, 30), s.n(2, 40), s.n(5, 30), s.n(2, 40)
    s.require(a * h > b * k)
    s.tell_any_order(f"{p} works {h} hours for {s.usd(a)} an hour.", f"{q} works {k} hours for {s.usd(b)} an hour.")
    s.ask(f"How much more [money |]does {p} earn than {q}?")
    x = s.mul(f"the money {p} earned", a, h)
    y = s.mul(f"the money {q} earned", b, k)
    s.sub(f"the difference between {p}'s money and {q}'s money", x, y)


@template("gap_after_gift", "things")
def gift_between(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, b, c = s.n(2, 90), s.n(4, 200), s.n(2, 60)
    s.require(b - c > 0 and b - c != a + c)
    s.tell(f"{p} has {t(a)} and {q} has {t(b)}.", f"[Then|Now] {q} gives {t(c)} to {p}.")
    less = s.sub(f"the number of {t.many} {q} has now", b, c)
    first_amount = s.add(f"the number of {t.many} {p} has now", a, c)
    if b - c > a + c:
        s.ask(f"How many more {t.many} does {q} have than {p} now?")
        s.sub(f"the difference between {q}'s {t.many} and {p}'s {t.many}", less, first_amount)
    else:
        s.ask(f"How many more {t.many} does {p} have than {q} now?")
        s.sub(f"the difference between {p}'s {t.many} and {q}'s {t.many}", first_amount, less)


@template("recipe", "people things", name="scaled_recipe")
def scale_recipe(s: Scene) -> None:
    p = s.person()
    dish = s.pick("soup", "a cake", "pancakes", "a stew", "a salad", "bread rolls", "a pie", "curry")
    t = s.noun(
        s.pick("egg", "tomato", "cup of flour", "spoon of sugar", "carrot", "onion", "potato", "cup of milk", "apple")
    )
    n, k, m = s.n(2, 8), s.n(2, 6), s.n(2, 12)
    s.tell(f"[To make|For] {dish} for {n} people, {p} needs {t(n * k)}.")
    s.require(m != n)
    s.ask(f"How many {t.many} does {p} need for {m} people?", f"How many {t.many} are needed for {m} people?")
    amount_each = s.div(f"the number of {t.many} for one person", n * k, n)
    s.mul(f"the number of {t.many} for all the people", amount_each, m)


@template("third_part", "things")
def third_color(s: Scene) -> None:
    t = s.thing("toy", "clothes", "plant", "school", "craft", "kitchen")
    x, y, z = s.colors(3)
    a, b, c = s.n(2, 90), s.n(2, 90), s.n(2, 90)
    s.tell(
        f"There are {t(a + b + c)} in a {s.container().singular}.",
        f"Of these, {a} are {x}, {b} are {y} and the rest are {z}.",
    )
    s.ask(f"How many {t.many} are {z}?", f"How many {z} {t.many} are there?")
    two = s.add(f"the number of {x} and {y} {t.many}", a, b)
    s.sub(f"the number of {z} {t.many}", a + b + c, two)


@template("temperature", "weather")
def warmer_or_colder(s: Scene) -> None:
    a, b = s.n(3, 60), s.n(2, 40)
    early, late = s.pick(("in the morning", "at noon"), ("at noon", "in the evening"), ("on Monday", "on Tuesday"))
    s.tell(f"The temperature {early} was {a} degrees.")
    match s.rng.randrange(3):
        case 0:
            s.tell(f"{late}, it [had risen|was higher] by {b} degrees.")
            s.ask(f"What was the temperature {late}?", f"How many degrees was it {late}?")
            s.add(f"the temperature {late}", a, b)
        case 1:
            s.require(a > b)
            s.tell(f"{late}, it [had fallen|was lower|had dropped] by {b} degrees.")
            s.ask(f"What was the temperature {late}?", f"How many degrees was it {late}?")
            s.sub(f"the temperature {late}", a, b)
        case _:
            s.tell(f"{late}, it was {a + b} degrees.")
            s.ask("By how many degrees did it get warmer?", "How many degrees did the temperature rise?")
            s.sub("the rise in degrees", a + b, a)


@template("class_trip", "price people")
def trip_budget(s: Scene) -> None:
    p = s.person()
    n, m, a, b, bus, refund = s.n(5, 40), s.n(2, 6), s.n(2, 15), s.n(5, 25), s.n(20, 200), s.n(1, 6)
    destination = s.pick("museum", "zoo", "castle", "theater", "aquarium")
    s.tell(f"A group of {n} students and {m} teachers visits {s.noun(destination).a}.")
    s.tell(f"A ticket costs {s.usd(a)} for a student and {s.usd(b)} for a teacher.")
    x = s.mul("the cost of the tickets for the students", n, a)
    y = s.mul("the cost of the tickets for the teachers", m, b)
    s.tell(f"The bus costs {s.usd(bus)}.")
    total = s.add("the total cost", x, y, bus)
    if s.chance(0.5):
        s.ask("How much does the trip cost [in all|altogether|in total]?")
        return
    have = n * a + m * b + bus + n * refund
    s.tell(f"{p} collected {s.usd(have)} for the trip.")
    s.ask("How much [money |]is left after the trip?")
    rest = s.sub("the money left", have, total)
    if s.chance(0.5):
        s.tell("The money that is left is shared equally among the students.")
        s.ask("How much does each student get?", "How much money does each student get back?")
        s.div("the money for each student", rest, n)


@template("relay", "people distance time")
def relay_times(s: Scene) -> None:
    p, q = s.people(2)
    a, b = s.n(12, 90), s.n(10, 80)
    s.require(a > b)
    did = s.pick("ran a lap", "swam a length", "solved a puzzle", "climbed the rope", "finished the maze")
    s.tell_any_order(f"{p} {did} in {a} seconds.", f"{q} {did} in {b} seconds.")
    s.ask(f"How many seconds faster was {q} than {p}?", f"How many seconds slower was {p} than {q}?")
    s.sub(f"the difference in seconds between {p} and {q}", a, b)


@template("library_day", "people", name="lent_and_returned")
def lend_and_return(s: Scene) -> None:
    where, t = s.pick(("library", "book"), ("bike shop", "bicycle"), ("ski rental", "helmet"), ("boat house", "canoe"))
    x = s.noun(t)
    n, k, out, back = s.n(3, 20), s.n(4, 30), s.n(2, 150), s.n(2, 60)
    s.require(out < n * k and back < out)
    s.tell(
        f"A {where} has {n} shelves with {x(k)} on each shelf."
        if t in ("book", "helmet")
        else f"A {where} has {n} rows of {k} {x.many}."
    )
    s.tell(f"In the morning, {out} {x.many} are lent out, and in the evening, {back} of them come back.")
    stock = s.mul(f"the number of {x.many} at first", n, k)
    less = s.sub(f"the number of {x.many} after the morning", stock, out)
    s.add(f"the number of {x.many} in the evening", less, back)
    s.ask(f"How many {x.many} are in the {where} then?", f"How many {x.many} does the {where} have in the evening?")


@template("sale_for_charity", "price people things")
def charity_sale(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, "fruit", "snack", "craft", "plant")
    n, a, m, b, rate = s.n(4, 30), s.n(1, 12), s.n(4, 30), s.n(1, 12), s.pick(10, 20, 25, 40, 50, 75)
    total_value = n * a + m * b
    s.require(total_value * rate % 100 == 0)
    s.tell(f"{p} sells {x(n)} for {s.usd(a)} each and {y(m)} for {s.usd(b)} each.")
    s.tell(f"{p.he} gives {rate}[%| percent] of the money to [an animal shelter|a hospital|the school library].")
    first_money = s.mul(f"the money for the {x.many}", n, a)
    second_money = s.mul(f"the money for the {y.many}", m, b)
    total = s.add("the money for everything", first_money, second_money)
    gift = s.percent(f"the money {p} gives away", total, rate)
    if s.chance(0.5):
        s.ask(f"How much [money |]does {p} give away?")
    else:
        s.ask(f"How much [money |]does {p} keep?")
        s.sub(f"the money {p} keeps", total, gift)
