"""Families for the dev split: their structures are new, but their words and operations are those of training."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.families.combine import DEEDS
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("pooled_then_shared", "things people")
def two_pool(s: Scene) -> None:
    did, _, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t, c = s.thing(*kinds), s.container()
    n, k = s.n(2, 15), s.n(2, 30)
    a = s.n(2, n * k - 2)
    b = n * k - a
    s.tell(f"{p} {did} {t(a)} and {q} {did} {t(b)}.", f"They [put|packed|sorted] all of them equally into {c(n)}.")
    s.ask(f"How many {t.many} are in each {c.singular}?", f"How many {t.many} [go|went] into each {c.singular}?")
    total = s.add(f"the number of {t.many} {p} and {q} {did} together", a, b)
    s.div(f"the number of {t.many} in each {c.singular}", total, n)


@template("pooled_then_shared", "people")
def classes_to_teams(s: Scene) -> None:
    first_name, second_name = s.pick(("girl", "boy"), ("adult", "child"), ("teacher", "student"), ("dancer", "singer"))
    x, y = s.noun(first_name), s.noun(second_name)
    g = s.noun(s.pick("team", "group", "bus", "table", "tent"))
    n, k = s.n(2, 15), s.n(2, 25)
    a = s.n(2, n * k - 2)
    s.tell(
        f"There are {x(a)} and {y(n * k - a)} [at a camp|on a trip|at a festival].",
        f"[Each {g.singular} has|A {g.singular} has room for] {k} people.",
    )
    s.ask(f"How many {g.many} are needed?", f"How many {g.many} do they [need|fill]?")
    total = s.add("the number of people", a, n * k - a)
    s.div(f"the number of {g.many}", total, k)


@template("saving_for_a_goal", "price time")
def weeks_of_saving(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "tool", "kitchen")
    have, k, n = s.n(2, 90), s.n(2, 25), s.n(2, 20)
    s.tell(
        f"{p} wants to buy {t.a} that costs {s.usd(have + k * n)}.",
        f"{p.he} has {s.usd(have)} and saves {s.usd(k)} [every|each|a] week.",
    )
    s.ask(
        f"How many weeks does {p} need?",
        f"How many weeks will it take {p.him} to save enough?",
        f"After how many weeks can {p.he} buy the {t.singular}?",
    )
    gap = s.sub(f"the money {p} still needs", have + k * n, have)
    s.div("the number of weeks", gap, k)


@template("saving_for_a_goal", "price time")
def amount_per_week(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "tool", "craft")
    have, k, n, m = s.n(2, 60), s.n(2, 20), s.n(2, 12), s.n(2, 5)
    cost = have + k * n
    s.require(cost % m == 0)
    s.tell(f"{p} wants to buy {t(m)} that cost {s.usd(cost // m)} each.", f"{p.he} already has {s.usd(have)}.")
    s.ask(f"How much must {p} save a week to have enough in {n} weeks?")
    total = s.mul(f"the cost of the {t.many}", m, cost // m)
    gap = s.sub(f"the money {p} still needs", total, have)
    s.div(f"the money {p} must save a week", gap, n)


@template("profit", "price", name="bought_and_sold")
def buy_and_sell(s: Scene) -> None:
    p = s.person()
    t = s.thing("fruit", "craft", "plant", "toy", "snack")
    n, cost, gain = s.n(2, 40), s.n(1, 20), s.n(1, 15)
    s.tell(f"{p} buys {t(n)} for {s.usd(cost)} each and sells [them|all of them] for {s.usd(cost + gain)} each.")
    s.ask(f"How much profit does {p} make?", f"How much [money |]does {p} gain?")
    cost_total = s.mul(f"the cost of the {t.many}", n, cost)
    got = s.mul(f"the money from the {t.many}", n, cost + gain)
    s.sub("the profit", got, cost_total)


@template("profit", "price", name="made_and_sold")
def make_and_sell(s: Scene) -> None:
    p = s.person()
    t = s.thing("craft", "snack")
    c = s.container()
    n, k, price, cost = s.n(2, 12), s.n(2, 20), s.n(1, 9), s.n(5, 90)
    s.require(cost < n * k * price)
    s.tell(
        f"{p} makes {c(n)} of {t.many} with {k} in each.",
        f"The materials cost {s.usd(cost)}, and {p.he} sells every {t.singular} for {s.usd(price)}.",
    )
    s.ask(f"How much profit does {p} make?", f"How much does {p} earn after paying for the materials?")
    production = s.mul(f"the number of {t.many}", n, k)
    got = s.mul(f"the money from the {t.many}", production, price)
    s.sub("the profit", got, cost)


@template("start_before_two_changes", "things")
def before_both(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    b, c, end = s.n(2, 90), s.n(2, 90), s.n(2, 120)
    s.require(end + c - b > 0)
    s.tell(
        f"{p} had some {t.many}.",
        f"{p.he} {s.gains(q, t, b)}, and then {p.he} {s.loses(r, t, c)}.",
        f"Now {p.he} has {t(end)}.",
    )
    s.ask(f"How many {t.many} did {p} have at first?", f"How many {t.many} did {p.he} start with?")
    middle = s.add(f"the number of {t.many} before the loss", end, c)
    s.sub(f"the number of {t.many} {p} had at first", middle, b)


@template("start_before_two_changes")
def crowd_before_both(s: Scene) -> None:
    c = s.crowd()
    a, b, end = s.n(2, 50), s.n(2, 50), s.n(2, 150)
    s.tell(
        f"[In the morning|Early in the day|At noon], some {c.who.many} were {c.location}.",
        f"First, {a} of them {c.go}, and then another {b} {c.go}.",
    )
    s.tell(f"In the end, there were {end} {c.who.many} {c.location}.")
    s.ask(f"How many {c.who.many} were {c.location} [at first|in the beginning]?")
    departures = s.add(f"the number of {c.who.many} that went away", a, b)
    s.add(f"the number of {c.who.many} {c.location} at first", end, departures)


@template("two_leg_trip", "distance time")
def legs_by_speed(s: Scene) -> None:
    p = s.person()
    a, h, b, k = s.n(8, 90), s.n(2, 9), s.n(8, 90), s.n(2, 9)
    unit = s.pick("miles", "kilometers")
    s.tell(f"{p} drives for {h} hours at {a} {unit} per hour and then for {k} hours at {b} {unit} per hour.")
    first = s.mul(f"the distance of the first part in {unit}", a, h)
    second = s.mul(f"the distance of the second part in {unit}", b, k)
    total = s.add(f"the whole distance in {unit}", first, second)
    if s.chance(0.6):
        s.ask(
            f"How many {unit} does {p} drive [in all|altogether|in total]?",
            f"How far does {p.he} drive [in all|altogether], in {unit}?",
        )
        return
    rest = s.n(5, 200)
    s.tell(f"The whole trip is {a * h + b * k + rest} {unit} long.")
    s.ask(f"How many {unit} [are left|does {p} still have to drive]?")
    s.sub(f"the number of {unit} left", a * h + b * k + rest, total)


@template("position_change")
def up_and_down(s: Scene) -> None:
    p = s.person()
    beginning, unit, up, down = s.pick(
        ("{p} is on floor {a} of a tower", "floor", "goes up", "goes down"),
        ("{p} is on page {a} of a comic", "page", "turns forward", "turns back"),
        ("{p}'s game piece is on square {a}", "square", "moves it forward", "moves it back"),
        ("{p} stands on step {a} of the stairs", "step", "climbs", "goes down"),
    )
    u = s.noun(unit)
    a, b = s.n(3, 60), s.n(2, 30)
    s.tell(beginning.format(p=p, a=a) + ".")
    where = "is the piece" if "piece" in beginning else f"is {p}"
    if s.chance(0.5):
        s.tell(f"{p.he} {up} {u(b)}.")
        s.add(f"the number of the {unit}", a, b)
    else:
        s.require(a > b)
        s.tell(f"{p.he} {down} {u(b)}.")
        s.sub(f"the number of the {unit}", a, b)
    s.ask(f"On which {unit} {where} now?", f"What {unit} {where} on now?")
