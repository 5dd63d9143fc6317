"""Longer stories of three to six operations: chains of people, farms, shops, trips and parties."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.families.combine import DEEDS
from lumos_queue.benchmarks.wordmath.families.compare import times
from lumos_queue.benchmarks.wordmath.families.parts import PART
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("chain_of_people", "things")
def three_people(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    a, d, k = s.n(3, 80), s.n(2, 50), s.n(2, 5)
    s.tell(f"{p} has {t(a)}.")
    is_more = s.chance(0.6)
    s.require(is_more or a - d > 0)
    s.tell(
        f"{q} has {t(d, 'more' if is_more else 'fewer')} than {p}.", f"{r} has {times(s, k)} as many {t.many} as {q}."
    )
    second = (s.add if is_more else s.sub)(f"the number of {t.many} {q} has", a, d)
    third = s.mul(f"the number of {t.many} {r} has", second, k)
    if s.chance(0.5):
        s.ask(f"How many {t.many} does {r} have?")
    else:
        s.ask(
            f"How many {t.many} do they have [altogether|in all|in total]?",
            f"How many {t.many} do the three of them have?",
        )
        s.add(f"the number of {t.many} they have together", a, second, third)


@template("chain_of_people", "things")
def three_people_halves(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q, r = s.people(3)
    t = s.thing(*kinds)
    k, b, d = s.pick(2, 3, 4), s.n(3, 40), s.n(2, 30)
    s.tell(f"{p} {did} {t(k * b)}.", f"{q} {did} {PART[k]} as many as {p}.")
    second = s.div(f"the number of {t.many} {q} {did}", k * b, k)
    if s.chance(0.5):
        s.tell(f"{r} {did} {t(d, 'more')} than {q}.")
        third = s.add(f"the number of {t.many} {r} {did}", second, d)
    else:
        s.require(b - d > 0)
        s.tell(f"{r} {did} {t(d, 'fewer')} than {q}.")
        third = s.sub(f"the number of {t.many} {r} {did}", second, d)
    s.ask(
        f"How many {t.many} did they {do} [altogether|in all|in total]?",
        f"How many {t.many} did {p}, {q} and {r} {do} together?",
    )
    s.add(f"the number of {t.many} {p}, {q} and {r} {did}", k * b, second, third)


@template("chain_of_days", "time pages")
def three_days_chain(s: Scene) -> None:
    p = s.person()
    did, do, unit = s.pick(
        ("read", "read", "page"),
        ("ran", "run", "lap"),
        ("sold", "sell", "ticket"),
        ("picked", "pick", "basket"),
        ("typed", "type", "page"),
        ("baked", "bake", "cake"),
        ("caught", "catch", "fish"),
        ("folded", "fold", "paper crane"),
    )
    t = s.noun(unit)
    x, y, z = s.days(3)
    a, k, d = s.n(2, 50), s.n(2, 4), s.n(2, 30)
    s.tell(f"On {x}, {p} {did} {t(a)}.", f"On {y}, {p.he} {did} {times(s, k)} as many as on {x}.")
    second = s.mul(f"the number of {t.many} on {y}", a, k)
    is_more = s.chance(0.5)
    s.require(is_more or a * k - d > 0)
    s.tell(f"On {z}, {p.he} {did} {d} {'more' if is_more else 'fewer'} than on {y}.")
    third = (s.add if is_more else s.sub)(f"the number of {t.many} on {z}", second, d)
    s.ask(f"How many {t.many} did {p} {do} [in all|altogether|in total|over the three days]?")
    s.add(f"the number of {t.many} on all three days", a, second, third)


@template("farm_sales", "price time", name="sold_what_is_left")
def sell_what_is_left(s: Scene) -> None:
    p = s.person()
    t, source = s.pick(
        ("egg", "hen"),
        ("liter of milk", "cow"),
        ("jar of honey", "hive"),
        ("basket of fruit", "tree"),
        ("loaf of bread", "oven"),
    )
    x, y = s.noun(t), s.noun(source)
    n, k, own_use, cost = s.n(2, 20), s.n(2, 12), s.n(2, 20), s.n(2, 9)
    s.require(own_use < n * k - 1)
    s.tell(f"{p} has {y(n)}.", f"Each {source} gives {p.him} {x(k)} [a day|every day|per day].")
    s.tell(
        f"Each day, {p}'s family [keeps|uses] {own_use} of them, and {p.he} sells the [rest|others] for "
        f"{s.usd(cost)} each."
    )
    production = s.mul(f"the number of {x.many} in a day", n, k)
    sales = s.sub(f"the number of {x.many} {p} sells in a day", production, own_use)
    money = s.mul(f"the money {p} makes in a day", sales, cost)
    if s.chance(0.5):
        s.ask(f"How much [money |]does {p} make [in a day|each day|every day]?")
    else:
        s.ask(f"How much [money |]does {p} make in a week?")
        s.mul(f"the money {p} makes in a week", money, 7)


@template("shop_stock", "things", name="sold_over_days")
def sell_over_days(s: Scene) -> None:
    t = s.thing("fruit", "snack", "school", "plant", "toy", "craft")
    c = s.container()
    x, y = s.days(2)
    n, k, a, b = s.n(3, 25), s.n(4, 40), s.n(2, 150), s.n(2, 150)
    s.require(a + b < n * k)
    who = s.pick("A shop", "A stall", "A market trader", "A store")
    s.tell(
        f"{who} [has|gets|receives] {c(n)} with {t(k)} each.",
        f"On {x}, {a} {t.many} are sold, and on {y}, {b} are sold.",
    )
    s.ask(f"How many {t.many} are left?", f"How many {t.many} are left [after these two days|in the end]?")
    stock = s.mul(f"the number of {t.many} at first", n, k)
    sales = s.add(f"the number of {t.many} sold", a, b)
    s.sub(f"the number of {t.many} left", stock, sales)


@template("shop_stock", "things")
def per_person_share(s: Scene) -> None:
    p = s.person()
    t = s.thing("fruit", "snack", "toy", "school")
    c, g = s.container(), s.group()
    n, k, m, j = s.n(2, 20), s.n(2, 24), s.n(2, 12), s.n(2, 12)
    s.require(m * j < n * k)
    s.tell(f"{p} buys {c(n)} of {t.many} with {k} in each.", f"{p.he} gives {t(j)} to each of {g(m)}.")
    s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} are left over?")
    have = s.mul(f"the number of {t.many} {p} bought", n, k)
    gift = s.mul(f"the number of {t.many} {p} gives away", m, j)
    s.sub(f"the number of {t.many} {p} has left", have, gift)


@template("party", "people price")
def party_cost(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, "snack", "fruit", "toy")
    g, k, j, a, b = s.n(3, 20), s.n(2, 5), s.n(2, 5), s.n(1, 6), s.n(1, 6)
    budget = s.pick(50, 100, 200, 250, 300, 500)
    s.tell(
        f"{p} invites {g} [guests|friends|children] to a party.",
        f"Each of them gets {x(k)} and {y(j)}.",
    )
    s.tell(f"[{x.a}|One {x.singular}] costs {s.usd(a)} and [{y.a}|one {y.singular}] costs {s.usd(b)}.")
    s.require(g * (k * a + j * b) < budget)
    c = s.mul(f"the cost of the {x.many} for one person", k, a)
    d = s.mul(f"the cost of the {y.many} for one person", j, b)
    cost_each = s.add("the cost for one person", c, d)
    total = s.mul("the cost for everybody", cost_each, g)
    if s.chance(0.5):
        s.ask(f"How much does {p} pay for all the {x.many} and {y.many}?", "How much does everything cost?")
    else:
        s.tell(f"{p} [has|saved|set aside] {s.usd(budget)} for the party.")
        s.ask(f"How much [money |]does {p} have left [after buying everything|after paying for everything]?")
        s.sub(f"the money {p} has left", budget, total)


@template("party", "people things")
def seats_left(s: Scene) -> None:
    n, k, m, j = s.n(2, 15), s.n(2, 12), s.n(2, 12), s.n(2, 12)
    guests = s.n(5, 200)
    s.require(guests < n * k + m * j - 1)
    x, y = s.pick(("long", "short"), ("large", "small"), ("round", "square"))
    where = s.pick("A hall", "A restaurant", "A cafe", "A school canteen")
    s.tell(
        f"{where} has {n} {x} tables with {k} seats each and {m} {y} tables with {j} seats each.",
        f"[Today|Tonight|On Sunday], {guests} guests are seated.",
    )
    s.ask("How many seats are [empty|free|still free]?", "How many seats are left?")
    a = s.mul(f"the number of seats at the {x} tables", n, k)
    b = s.mul(f"the number of seats at the {y} tables", m, j)
    total = s.add("the number of seats", a, b)
    s.sub("the number of free seats", total, guests)


@template("weekly_routine", "time pages")
def weekdays_and_weekend(s: Scene) -> None:
    p = s.person()
    does, do, unit = s.pick(
        ("reads", "read", "page"),
        ("runs", "run", "mile"),
        ("practices", "practice", "minute"),
        ("solves", "solve", "problem"),
        ("walks", "walk", "kilometer"),
        ("works", "work", "hour"),
        ("swims", "swim", "lap"),
        ("writes", "write", "line"),
    )
    t = s.noun(unit)
    a, b, m, w = s.n(2, 30), s.n(2, 40), s.n(2, 4), s.n(2, 10)
    n = 7 - m
    if unit == "hour":
        s.require(a < 10 and b < 10)
    s.tell(f"{p} {does} {t(a)} a day on {n} days of the week and {t(b)} a day on the other {m} days.")
    x = s.mul(f"the number of {t.many} on the first days", n, a)
    y = s.mul(f"the number of {t.many} on the other days", m, b)
    week = s.add(f"the number of {t.many} in a week", x, y)
    if s.chance(0.5):
        s.ask(f"How many {t.many} does {p} {do} in a week?", f"How many {t.many} does {p.he} {do} each week?")
    else:
        s.ask(f"How many {t.many} does {p} {do} in {w} weeks?")
        s.mul(f"the number of {t.many} in all the weeks", week, w)


@template("weekly_routine", "price time", name="earned_and_spent")
def earn_and_spend(s: Scene) -> None:
    p = s.person()
    rate, hours, days, cost, weeks = s.n(5, 30), s.n(2, 8), s.n(2, 6), s.n(5, 90), s.n(2, 8)
    s.require(cost < rate * hours * days)
    s.tell(f"{p} works {hours} hours a day, {days} days a week, and earns {s.usd(rate)} an hour.")
    s.tell(f"{p.he} spends {s.usd(cost)} [a|every|each] week on [food|rent|travel|lunch].")
    day_hours = s.mul(f"the number of hours {p} works in a week", hours, days)
    earnings = s.mul(f"the money {p} earns in a week", day_hours, rate)
    remainder = s.sub(f"the money {p} has left in a week", earnings, cost)
    if s.chance(0.4):
        s.ask(f"How much [money |]does {p} have left [each|every|in a] week?")
    else:
        s.ask(
            f"How much [money |]does {p} have left after {weeks} weeks?", f"How much can {p.he} save in {weeks} weeks?"
        )
        s.mul(f"the money {p} has left after all the weeks", remainder, weeks)


@template("fraction_chain", "people things")
def group_split_twice(s: Scene) -> None:
    who, where, first_trait, second_trait, third_trait = s.pick(
        ("student", "on a trip", "go to the museum", "go to the zoo", "go to the park"),
        ("guest", "at a hotel", "order tea", "order coffee", "order juice"),
        ("book", "in a library", "are novels", "are about history", "are for children"),
        ("flower", "in a garden", "are roses", "are tulips", "are lilies"),
        ("car", "in a parking lot", "are white", "are black", "are red"),
        ("member", "in a club", "play chess", "play cards", "play darts"),
        ("animal", "on a farm", "are cows", "are sheep", "are goats"),
    )
    t = s.noun(who)
    a = s.pick(2, 3, 4, 5)
    b = s.pick(2, 3, 4, 5)
    whole = a * b * s.n(1, 30)
    s.require((whole - whole // a) % b == 0 and whole > 8)
    s.tell(
        f"There are {t(whole)} {where}.",
        f"{PART[a]} of them {first_trait}.",
        f"{PART[b]} of the [rest|others] {second_trait}, and all the remaining {t.many} {third_trait}.",
    )
    s.ask(f"How many {t.many} {third_trait}?")
    x = s.div(f"the number of {t.many} that {first_trait}", whole, a)
    rest = s.sub(f"the number of the other {t.many}", whole, x)
    y = s.div(f"the number of {t.many} that {second_trait}", rest, b)
    s.sub(f"the number of {t.many} that {third_trait}", rest, y)


@template("long_trade", "price things")
def stall_day(s: Scene) -> None:
    p = s.person()
    x, y = s.things(2, "fruit", "snack", "craft", "plant", "vegetable")
    n, a, m, b = s.n(5, 40), s.n(2, 12), s.n(5, 40), s.n(2, 12)
    rent, k = s.n(5, 40), s.n(2, 4)
    s.require(n * a + m * b > rent + 4)
    s.tell(f"At the [market|fair], {p} sold {x(n)} for {s.usd(a)} each and {y(m)} for {s.usd(b)} each.")
    s.tell(f"{p.he} paid {s.usd(rent)} [for the stall|in rent for the table].")
    first_money = s.mul(f"the money from the {x.many}", n, a)
    second_money = s.mul(f"the money from the {y.many}", m, b)
    total = s.add("the money from all sales", first_money, second_money)
    remainder = s.sub("the money left after paying for the stall", total, rent)
    if s.chance(0.6):
        s.require((n * a + m * b - rent) % k == 0)
        s.tell(f"{p.he} split the rest into {k} equal parts, and kept one of them.")
        s.ask(f"How much did {p} [get|keep]?", "How much money was in each part?")
        part = s.div("the money in each part", remainder, k)
        if s.chance(0.5):
            cost = s.n(2, 30)
            s.require(part.value > cost + 1)
            s.tell(f"From {p.his} own part, {p.he} spent {s.usd(cost)} on {s.thing('clothes', 'toy').a}.")
            s.ask(f"How much of {p.his} part did {p} have left?", f"How much money did {p} have left?")
            s.sub(f"the money {p} has left", part, cost)
    else:
        s.ask(
            f"How much [money |]did {p} have left?", f"How much did {p} earn [after paying for the stall|in the end]?"
        )
