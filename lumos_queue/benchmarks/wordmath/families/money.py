"""Buying, selling and earning: prices, totals, change, wages and discounts."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

GOODS = ("fruit", "snack", "vegetable", "toy", "school", "craft", "clothes", "plant", "tool", "kitchen")
NOTES = (10, 20, 50, 100, 200, 500)
WORK = (
    ("babysits", "babysitting"),
    ("mows lawns", "mowing lawns"),
    ("washes cars", "washing cars"),
    ("gives piano lessons", "giving piano lessons"),
    ("walks dogs", "walking dogs"),
    ("works in a cafe", "working in the cafe"),
    ("paints fences", "painting fences"),
    ("delivers newspapers", "delivering newspapers"),
    ("picks fruit", "picking fruit"),
    ("repairs bicycles", "repairing bicycles"),
    ("teaches swimming", "teaching swimming"),
    ("works at a bakery", "working at the bakery"),
)


@template("price_total", "price")
def several_of_one(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    n, cost = s.n(2, 60), s.price(1, 80)
    if s.chance(0.5):
        s.tell(f"[{t.a}|One {t.singular}] costs {s.usd(cost)}[.| at the {s.pick(*words.SHOPS)}.]")
        s.tell(f"{p} [buys|wants to buy|needs] {t(n)}.")
    else:
        s.tell(f"{p} [buys|bought] {t(n)} [for|at] {s.usd(cost)} each.")
    s.ask(
        f"How much [money |]does {p} [spend|pay|need]?",
        f"What is the total cost of the {t.many}?",
        f"How much do the {t.many} cost [in all|altogether|in total]?",
        f"How much does {p.he} pay [in all|in total]?",
    )
    s.mul(f"the total cost of the {t.many}", n, cost)


@template("price_total", "price")
def two_items(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, *GOODS)
    a, b = s.price(2, 150), s.price(2, 150)
    s.tell(
        f"{p} [buys|bought|paid for] {x.a} for {s.usd(a)} and {y.a} for {s.usd(b)}[.| at the {s.pick(*words.SHOPS)}.]"
    )
    s.ask(
        f"How much did {p} [spend|pay] [in all|altogether|in total]?",
        "What is the total cost?",
        f"How much money did {p.he} spend?",
    )
    s.add("the total cost", a, b)


@template("price_total", "price")
def three_items(s: Scene) -> None:
    p = s.person()
    x, y, z = s.things(3, *GOODS)
    a, b, c = s.price(1, 90), s.price(1, 90), s.price(1, 90)
    s.tell(
        f"[At the {s.pick(*words.SHOPS)}, {x.a}|{x.a}] costs {s.usd(a)}, {y.a} costs {s.usd(b)} and {z.a} costs "
        f"{s.usd(c)}."
    )
    s.tell(f"{p} buys one of each.")
    s.ask(f"How much does {p} [spend|pay] [in all|altogether|in total]?", f"How much does {p.he} have to pay?")
    s.add("the total cost", a, b, c)


@template("change_back", "price")
def change_from_note(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    note = s.pick(*NOTES)
    cost = s.price(2, note - 1)
    s.require(cost < note)
    s.tell(
        f"{p} buys {t.a} [for|that costs] {s.usd(cost)}.",
        f"{p.he} [pays with|hands over|gives the clerk] {s.usd(note)}.",
    )
    s.ask(f"How much change does {p} get[| back]?", f"How much [change|money] should {p.he} get back?")
    s.sub("the change", note, cost)


@template("change_back", "price")
def money_left(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    have = s.n(8, 400)
    cost = s.price(2, have - 1)
    s.require(cost < have)
    s.tell(
        f"{p} [had {s.usd(have)}|saved {s.usd(have)}|took {s.usd(have)} along|got {s.usd(have)} from {p.his} aunt].",
        f"{p.he} spent {s.usd(cost)} on {t.a}.",
    )
    s.ask(f"How much [money |]does {p} have left?", "How much is left?")
    s.sub(f"the money {p} has left", have, cost)


@template("change_back", "price")
def change_for_several(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    n, cost = s.n(2, 12), s.price(1, 30)
    note = s.pick(*NOTES)
    s.require(n * cost < note)
    s.tell(f"{p} buys {t(n)} [at|for] {s.usd(cost)} each.", f"{p.he} [pays with|hands over] {s.usd(note)}.")
    s.ask(f"How much change does {p} get[| back]?", f"How much money does {p.he} get back?")
    total = s.mul(f"the total cost of the {t.many}", n, cost)
    s.sub("the change", note, total)


@template("change_back", "price", name="left_after_two")
def spend_twice(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, *GOODS)
    a, b = s.price(2, 60), s.price(2, 60)
    have = int(a + b) + s.n(2, 90)
    s.tell(f"{p} [had|has|took] {s.usd(have)}.", f"{p.he} [buys|bought] {x.a} for {s.usd(a)} and {y.a} for {s.usd(b)}.")
    s.ask(f"How much money does {p} have left?", "How much [money |]is left?")
    total = s.add("the total cost", a, b)
    s.sub(f"the money {p} has left", have, total)


@template("unit_price", "price")
def price_of_one(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    n, cost = s.n(2, 40), s.n(2, 40)
    s.tell(
        f"[{p} paid {s.usd(n * cost)} for {t(n)}|{p} bought {t(n)} for {s.usd(n * cost)}|A pack of {t(n)} costs "
        f"{s.usd(n * cost)}]."
    )
    s.ask(
        f"How much does one {t.singular} cost?",
        f"What is the price of one {t.singular}?",
        f"How much is each {t.singular}?",
    )
    s.div(f"the price of one {t.singular}", n * cost, n)


@template("unit_price", "price")
def how_many_to_buy(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    n, cost = s.n(2, 40), s.n(2, 30)
    s.tell_any_order(f"{p} has {s.usd(n * cost)}.", f"[{t.a}|Each {t.singular}|One {t.singular}] costs {s.usd(cost)}.")
    s.ask(
        f"How many {t.many} can {p} buy?",
        f"How many {t.many} can {p.he} [get|buy] for [all |]{p.his} money?",
    )
    s.div(f"the number of {t.many} {p} can buy", n * cost, cost)


@template("unit_price", "price")
def price_for_more(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    n, cost, m = s.n(2, 15), s.n(2, 25), s.n(2, 30)
    s.tell(f"[The price of {t(n)} is|A pack of {t(n)} costs|In a shop, {t(n)} cost] {s.usd(n * cost)}.")
    s.ask(f"At this price, how much do {t(m)} cost?", f"How much [would|will] {p} pay for {t(m)} at the same price?")
    unit_price = s.div(f"the price of one {t.singular}", n * cost, n)
    s.mul(f"the price of all the {t.many} asked for", unit_price, m)


@template("wages", "price time", name="paid_by_the_hour")
def pay_by_the_hour(s: Scene) -> None:
    p = s.person()
    does, activity = s.pick(*WORK)
    rate, hours = s.n(4, 45), s.n(2, 60)
    s.tell(
        f"{p} {does} and [earns|gets|is paid] {s.usd(rate)} [an|per|for each] hour.",
        f"[Last week,|This month,|In June,] {p.he} worked {hours} hours.",
    )
    s.ask(
        f"How much [money |]did {p} [earn|make]?",
        f"How much did {p.he} earn {activity}?",
    )
    s.mul(f"the money {p} earned", rate, hours)


@template("wages", "price time")
def hours_needed(s: Scene) -> None:
    p = s.person()
    does, _ = s.pick(*WORK)
    rate, hours = s.n(4, 40), s.n(2, 40)
    s.tell(
        f"{p} {does} for {s.usd(rate)} an hour.",
        f"{p.he} wants to earn {s.usd(rate * hours)}[| to buy a present| for a trip].",
    )
    s.ask(f"How many hours does {p} [need|have] to work?", f"How many hours must {p.he} work?")
    s.div(f"the number of hours {p} has to work", rate * hours, rate)


@template("wages", "price time")
def two_rates(s: Scene) -> None:
    p = s.person()
    first_day, second_day = s.days(2)
    does, _ = s.pick(*WORK)
    rate, h, k = s.n(5, 30), s.n(2, 9), s.n(2, 9)
    s.tell(
        f"{p} {does} for {s.usd(rate)} an hour.",
        f"{p.he} worked {h} hours on {first_day} and {k} hours on {second_day}.",
    )
    s.ask(f"How much did {p} earn [in all|altogether|in total|on the two days]?")
    hours = s.add(f"the number of hours {p} worked", h, k)
    s.mul(f"the money {p} earned", rate, hours)


@template("price_of_two_kinds", "price")
def two_kinds_bought(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, *GOODS)
    n, a, m, b = s.n(2, 12), s.price(1, 30), s.n(2, 12), s.price(1, 30)
    if s.chance(0.5):
        s.tell(f"{p} [buys|bought] {x(n)} [at|for] {s.usd(a)} each and {y(m)} [at|for] {s.usd(b)} each.")
    else:
        s.tell(
            f"[At the {s.pick(*words.SHOPS)}, {x.a}|{x.a}] costs {s.usd(a)} and {y.a} costs {s.usd(b)}.",
            f"{p} buys {x(n)} and {y(m)}.",
        )
    s.ask(
        f"How much [does|will] {p} pay [in all|altogether|in total]?",
        "What is the total cost?",
        "How much is that [in all|altogether]?",
    )
    c, d = s.mul_both((f"the cost of the {x.many}", n, a), (f"the cost of the {y.many}", m, b))
    s.add("the total cost", c, d)


@template("price_of_two_kinds", "price people")
def two_kinds_and_change(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, *GOODS)
    n, a, m, b = s.n(2, 9), s.n(1, 12), s.n(2, 9), s.n(1, 12)
    note = s.pick(*NOTES)
    s.require(n * a + m * b < note)
    s.tell(f"{p} buys {x(n)} at {s.usd(a)} each and {y(m)} at {s.usd(b)} each.", f"{p.he} pays with {s.usd(note)}.")
    s.ask(f"How much change does {p} get[| back]?", f"How much money does {p.he} get back?")
    c = s.mul(f"the cost of the {x.many}", n, a)
    d = s.mul(f"the cost of the {y.many}", m, b)
    total = s.add("the total cost", c, d)
    s.sub("the change", note, total)


@template("discount", "price")
def percent_off(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "craft", "tool", "kitchen")
    rate = s.pick(5, 10, 15, 20, 25, 30, 40, 50, 60, 75)
    cost = s.n(1, 20) * (20 if rate % 10 else 10)
    s.tell(
        f"{t.a} [costs|is sold for|normally costs] {s.usd(cost)}.",
        f"[In the sale|Today|With a coupon], {p} gets a [discount|reduction] of {rate}[%| percent].",
    )
    s.ask(f"How much does {p} pay[| for the {t.singular}]?", f"What does {p.he} have to pay?")
    off = s.percent("the discount", cost, rate)
    s.sub("the price after the discount", cost, off)


@template("discount", "price")
def tip_or_tax(s: Scene) -> None:
    p = s.person()
    rate = s.pick(5, 10, 15, 20, 25)
    cost = s.n(1, 15) * 20
    s.tell(
        f"[{p}'s dinner costs|The meal {p} orders costs|{p}'s restaurant bill is] {s.usd(cost)}.",
        f"{p.he} adds [a tip of {rate}%|a {rate} percent tip|{rate}% for the waiter].",
    )
    s.ask(f"How much does {p} pay [in all|altogether|in total]?")
    tip = s.percent("the tip", cost, rate)
    s.add("the total amount", cost, tip)


@template("discount", "price")
def amount_off_each(s: Scene) -> None:
    p = s.person()
    t = s.thing(*GOODS)
    off, n = s.n(1, 9), s.n(2, 20)
    cost = off + s.n(1, 40)
    s.tell(
        f"A shop lowers the price of {t.a} from {s.usd(cost)} by {s.usd(off)}.", f"{p} buys {t(n)} at the new price."
    )
    s.ask(f"How much does {p} pay?", f"How much do the {t.many} cost {p.him}?")
    new = s.sub(f"the new price of one {t.singular}", cost, off)
    s.mul(f"the cost of the {t.many}", new, n)
