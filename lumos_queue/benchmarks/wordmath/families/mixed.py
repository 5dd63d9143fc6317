"""Short stories of two or three different steps."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.families.combine import DEEDS
from lumos_queue.benchmarks.wordmath.families.compare import times
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template


@template("times_and_difference", "things")
def more_than_twice(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, k, d = s.n(3, 60), s.n(2, 5), s.n(2, 30)
    is_more = s.chance(0.5)
    s.require(is_more or a * k > d)
    word = "more" if is_more else "fewer"
    s.tell_any_order(f"{p} has {t(a)}.", f"{q} has {t(d, word)} than {times(s, k)} as many as {p}.")
    s.ask(f"How many {t.many} does {q} have?", f"How many does {q} have?")
    product = s.mul(f"{k} times the number of {t.many} {p} has", a, k)
    (s.add if is_more else s.sub)(f"the number of {t.many} {q} has", product, d)


@template("supply", "time", name="used_day_by_day")
def use_day_by_day(s: Scene) -> None:
    p = s.person()
    uses, t = s.pick(
        ("drinks", "cup of tea"),
        ("burns", "candle"),
        ("eats", "apple"),
        ("takes", "vitamin pill"),
        ("uses", "tea bag"),
        ("uses", "coffee filter"),
        ("eats", "cookie"),
        ("uses", "stamp"),
    )
    x = s.noun(t)
    k, n = s.n(2, 12), s.n(2, 30)
    per = s.pick("day", "day", "week")
    if s.chance(0.5):
        s.tell(f"{p} has {x(k * n)}.", f"{p.he} {uses} {x(k)} [a|every|each] {per}.")
        s.ask(f"How many {per}s will they last?", f"For how many {per}s does {p} have enough?")
        s.div(f"the number of {per}s", k * n, k)
        return
    start = k * n + s.n(1, 60)
    s.tell(f"{p} has {x(start)}.", f"{p.he} {uses} {x(k)} [a|every|each] {per}.")
    s.ask(f"How many {x.many} are left after {n} {per}s?", f"How many {x.many} does {p} have after {n} {per}s?")
    usage = s.mul(f"the number of {x.many} used", k, n)
    s.sub(f"the number of {x.many} left", start, usage)


@template("supply", "things")
def two_sources_then_loss(s: Scene) -> None:
    did, _, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    a, b, loss = s.n(3, 120), s.n(3, 120), s.n(2, 150)
    s.require(loss < a + b)
    s.tell(f"{p} {did} {t(a)} in the morning and {b} in the afternoon.", f"[Then|Later], {p.he} gave {t(loss)} to {q}.")
    s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} [are left|remain]?")
    total = s.add(f"the number of {t.many} {p} {did}", a, b)
    s.sub(f"the number of {t.many} {p} has left", total, loss)


@template("split_bill", "price people")
def bill_for_friends(s: Scene) -> None:
    p = s.person()
    x, y = s.pick(
        ("pizza", "salad"), ("soup", "juice"), ("curry", "tea"), ("taco plate", "lemonade"), ("pasta", "dessert")
    )
    n, k = s.n(2, 8), s.n(3, 40)
    a = s.n(2, n * k - 2)
    s.require(n * k <= 4 * a <= 3 * n * k)
    s.tell(f"{p} and {p.his} friends order a {x} for {s.usd(a)} and a {y} for {s.usd(n * k - a)}.")
    s.tell(f"They split the bill equally among {n} people.")
    s.ask("How much does each person pay?", "How much is that for each person?")
    total = s.add("the whole bill", a, n * k - a)
    s.div("the amount for each person", total, n)


@template("split_bill", "price people")
def rent_shared(s: Scene) -> None:
    p = s.person()
    thing = s.pick("a tent", "a boat", "a cabin", "a van", "a music room", "a tennis court")
    n, k, days = s.n(2, 8), s.n(2, 30), s.n(2, 7)
    s.require(n * k % days == 0)
    s.tell(f"{p} and {p.his} friends rent {thing} for {days} days at {s.usd(n * k // days)} a day.")
    s.tell(f"They share the cost equally among {n} people.")
    s.ask("How much does each person pay?", f"How much does {p} pay?")
    total = s.mul("the cost of the rent", days, n * k // days)
    s.div("the amount for each person", total, n)


@template("seats_and_space", "people")
def free_seats(s: Scene) -> None:
    where, u = s.pick(
        ("A bus", "seat"),
        ("A cinema", "seat"),
        ("A parking lot", "space"),
        ("A hotel", "room"),
        ("A theater", "seat"),
        ("A camp", "bed"),
        ("A train car", "seat"),
        ("A bookshelf", "slot"),
    )
    t = s.noun(u)
    a = s.n(8, 400)
    b = s.n(3, a - 2)
    s.tell(f"{where} has {t(a)}.")
    if s.chance(0.5):
        s.tell(f"[At the moment|Today|This evening], {b} of them are taken.")
        s.ask(f"How many {t.many} are [free|empty|still free]?")
        s.sub(f"the number of free {t.many}", a, b)
    else:
        s.tell(f"[At the moment|Today|This evening], {b} of them are [free|empty].")
        s.ask(f"How many {t.many} are taken?")
        s.sub(f"the number of {t.many} that are taken", a, b)


@template("round_trip", "distance")
def there_and_back(s: Scene) -> None:
    p = s.person()
    destination, unit = (
        s.pick("school", "work", "the library", "the pool", "the market"),
        s.pick("kilometers", "miles", "blocks"),
    )
    a, n = s.n(2, 30), s.n(2, 7)
    goes = s.pick("walks", "cycles", "drives", "rides the bus") if unit != "blocks" else "walks"
    s.tell(f"{p} lives {a} {unit} from {destination}.", f"{p.he} {goes} there and back {n} [days a week|times a week].")
    s.ask(f"How many {unit} is that in a week?", f"How many {unit} does {p} cover in a week?")
    trip = s.mul(f"the number of {unit} there and back", a, 2)
    s.mul(f"the number of {unit} in a week", trip, n)


@template("round_trip", "distance")
def stops_on_the_way(s: Scene) -> None:
    p = s.person()
    first_stop, second_stop = s.rng.sample(
        ["the bakery", "the park", "the library", "the station", "the pool", "school"], 2
    )
    unit = s.pick("meters", "kilometers", "blocks", "miles")
    a, b = s.n(2, 90), s.n(2, 90)
    if s.chance(0.5):
        s.tell(f"{p} walks {a} {unit} from home to {first_stop} and then {b} {unit} from there to {second_stop}.")
        s.ask(f"How many {unit} does {p} walk [in all|altogether|in total]?", f"How far does {p.he} walk, in {unit}?")
        s.add(f"the number of {unit} {p} walks", a, b)
    else:
        s.tell(
            f"{p} walks from home to {second_stop}, a way of {a + b} {unit}.",
            f"{p.he} passes {first_stop} after {a} {unit}.",
        )
        s.ask(f"How many {unit} is it from {first_stop} to {second_stop}?")
        s.sub(f"the number of {unit} from {first_stop} to {second_stop}", a + b, a)


@template("savings_book", "price time", name="saved_and_spent")
def save_and_spend(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "school", "tool")
    first_month, second_month = s.months(2)
    a, b, c = s.n(5, 200), s.n(5, 200), s.n(3, 200)
    s.require(c < a + b)
    s.tell(
        f"{p} saved {s.usd(a)} in {first_month} and {s.usd(b)} in {second_month}.",
        f"Then {p.he} bought {t.a} for {s.usd(c)}.",
    )
    s.ask(f"How much [money |]does {p} have left?", "How much is left?")
    total = s.add(f"the money {p} saved", a, b)
    s.sub(f"the money {p} has left", total, c)


@template("savings_book", "price", name="missing_money")
def lack_money(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "tool", "kitchen")
    have = s.n(3, 200)
    cost = have + s.n(2, 150)
    s.tell_any_order(f"{p} wants to buy {t.a} for {s.usd(cost)}.", f"{p} has {s.usd(have)}.")
    s.ask(f"How much more [money |]does {p} need?", f"How much [money |]is {p} missing?")
    s.sub(f"the money {p} still needs", cost, have)


@template("two_rounds", "people number")
def rounds_compared(s: Scene) -> None:
    p, q = s.people(2)
    a, b, c, d = s.n(3, 90), s.n(3, 90), s.n(3, 90), s.n(3, 90)
    s.require(a + b > c + d)
    s.tell(f"{p} scored {a} points in the first round and {b} in the second.")
    s.tell(f"{q} scored {c} points in the first round and {d} in the second.")
    if s.chance(0.5):
        s.ask(f"How many more points did {p} score than {q}?", f"By how many points did {p} beat {q}?")
        x, y = s.add(f"the points of {p}", a, b), s.add(f"the points of {q}", c, d)
        s.sub(f"the difference between {p}'s points and {q}'s points", x, y)
    else:
        who, m, n = (p, a, b) if s.chance(0.5) else (q, c, d)
        s.ask(f"How many points did {who} score [in all|altogether|in total]?")
        s.add(f"the points of {who}", m, n)
