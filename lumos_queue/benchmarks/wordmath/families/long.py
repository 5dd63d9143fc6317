"""Stories of five and six operations."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("bakery_day", "price things time")
def trays_to_boxes(s: Scene) -> None:
    p = s.person()
    t = s.noun(s.pick("roll", "muffin", "bagel", "cookie", "bun", "cupcake"))
    n, k, size, price, cost = s.n(3, 15), s.n(4, 24), s.n(2, 12), s.n(2, 12), s.n(5, 60)
    gift = s.n(2, 40)
    rest = n * k - gift
    s.require(rest > size and rest % size == 0 and rest // size * price > cost)
    s.tell(f"{p} bakes {n} trays of {t.many} with {k} on each tray.", f"{p.he} gives {t(gift)} to {p.his} neighbors.")
    s.tell(f"{p.he} packs the rest into boxes of {size} and sells each box for {s.usd(price)}.")
    production = s.mul(f"the number of {t.many} {p} bakes", n, k)
    remainder = s.sub(f"the number of {t.many} {p} packs", production, gift)
    boxes = s.div("the number of boxes", remainder, size)
    money = s.mul(f"the money {p} gets for the boxes", boxes, price)
    if s.chance(0.6):
        s.tell(f"The flour and the butter cost {s.usd(cost)} [in all|altogether].")
        s.ask(f"How much [money |]does {p} have left after paying for the flour and the butter?")
        s.sub(f"the money {p} has left", money, cost)
    else:
        s.ask(f"How much [money |]does {p} get for all the boxes?")


@template("three_kinds", "price people")
def three_kinds_of_tickets(s: Scene) -> None:
    venue = s.pick("A theater", "A fair", "A zoo", "A circus", "A museum")
    first_kind, second_kind, third_kind = s.pick(
        ("adult", "student", "child"), ("front", "middle", "back"), ("morning", "noon", "evening")
    )
    a, b, c, n, m, k = s.n(5, 40), s.n(3, 30), s.n(2, 20), s.n(2, 40), s.n(2, 40), s.n(2, 40)
    cost = s.n(10, 300)
    s.require(a * n + b * m + c * k > cost)
    s.tell(f"{venue} sells {n} {first_kind} tickets at {s.usd(a)} each, {m} {second_kind} tickets at {s.usd(b)} each")
    s.body[-1] += f" and {k} {third_kind} tickets at {s.usd(c)} each."
    x = s.mul(f"the money for the {first_kind} tickets", n, a)
    y = s.mul(f"the money for the {second_kind} tickets", m, b)
    z = s.mul(f"the money for the {third_kind} tickets", k, c)
    total = s.add("the money for all tickets", x, y, z)
    if s.chance(0.5):
        s.ask("How much money do [all the tickets|the tickets] bring in?", "How much is that [in all|altogether]?")
    else:
        s.tell(f"The [lights|guards|costumes|animals] cost {s.usd(cost)} that day.")
        s.ask("How much money is left [that day|after that]?")
        s.sub("the money left", total, cost)


@template("crew", "people price time")
def crew_and_material(s: Scene) -> None:
    p = s.person()
    job = s.pick("paint a house", "build a barn", "lay a floor", "repair a roof", "plant an orchard", "fix a bridge")
    n, h, d, rate, stuff, extra = s.n(2, 8), s.n(3, 9), s.n(2, 9), s.n(5, 30), s.n(20, 400), s.n(10, 200)
    s.tell(
        f"{p} hires {n} workers to {job}.",
        f"Each of them works {h} hours a day for {d} days and earns {s.usd(rate)} an hour.",
    )
    hours = s.mul("the hours of one worker", h, d)
    wage = s.mul("the wage of one worker", hours, rate)
    wages = s.mul("the wages of all workers", wage, n)
    s.tell(f"The material costs {s.usd(stuff)}.")
    if s.chance(0.4):
        s.ask(f"How much does {p} pay [in all|altogether|in total]?", f"How much does the whole job cost {p.him}?")
        s.add("the total cost", wages, stuff)
        return
    budget = n * h * d * rate + stuff + extra
    s.tell(f"{p} has {s.usd(budget)} for the job.")
    s.ask(f"How much [money |]does {p} have left in the end?", f"How much of {p.his} money is left?")
    total = s.add("the total cost", wages, stuff)
    s.sub(f"the money {p} has left", budget, total)


@template("garden_plan", "price distance things")
def garden_with_plants(s: Scene) -> None:
    p = s.person()
    t = s.thing("plant")
    a, b, k, price, have = s.n(2, 15), s.n(2, 12), s.n(2, 6), s.n(1, 6), s.n(2, 60)
    s.require(a * b * k > have)
    s.tell(
        f"{p}'s garden is {a} meters long and {b} meters wide.", f"{p.he} wants to plant {t(k)} on every square meter."
    )
    s.tell(f"{p.he} already has {have} {t.many}, and each new one costs {s.usd(price)}.")
    area = s.mul("the area of the garden in square meters", a, b)
    need = s.mul(f"the number of {t.many} {p} needs", area, k)
    buy = s.sub(f"the number of {t.many} {p} has to buy", need, have)
    s.mul(f"the cost of the new {t.many}", buy, price)
    s.ask(f"How much does {p} pay for the new {t.many}?", f"How much do the new {t.many} cost?")


@template("family_ages", "age")
def ages_in_a_family(s: Scene) -> None:
    p, q, r = s.people(3)
    a, d, k, n = s.n(3, 15), s.n(2, 10), s.n(2, 4), s.n(2, 12)
    s.tell(f"{p} is {a} years old.", f"{q} is {d} years older than {p}, and {r} is {k} times as old as {q}.")
    second = s.add(f"the age of {q}", a, d)
    third = s.mul(f"the age of {r}", second, k)
    match s.rng.randrange(3):
        case 0:
            s.ask(f"How old will {r} be in {n} years?")
            s.add(f"the age of {r} then", third, n)
        case 1:
            s.ask("What is the sum of the three ages?", "How old are the three of them together?")
            s.add("the sum of the ages", a, second, third)
        case _:
            s.ask(f"What will be the sum of the three ages in {n} years?")
            ages = s.add("the sum of the ages now", a, second, third)
            years = s.mul("the years the three of them add", 3, n)
            s.add("the sum of the ages then", ages, years)
