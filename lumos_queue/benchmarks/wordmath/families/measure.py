"""Measures: units, rates, speed, areas, ages and averages."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

PLOTS = (
    "garden",
    "room",
    "field",
    "playground",
    "carpet",
    "poster",
    "wall",
    "rug",
    "yard",
    "stage",
    "tablecloth",
    "floor",
)


@template("units", "time")
def weeks_of_days(s: Scene) -> None:
    p = s.person()
    does, do, unit = s.pick(
        ("reads", "read", "page"),
        ("drinks", "drink", "glass of water"),
        ("does", "do", "push-up"),
        ("walks", "walk", "kilometer"),
        ("draws", "draw", "picture"),
        ("writes", "write", "line"),
        ("eats", "eat", "apple"),
        ("takes", "take", "photo"),
    )
    t = s.noun(unit)
    k, n = s.n(2, 30), s.n(2, 9)
    s.tell(f"{p} {does} {t(k)} [every|each|a] day.")
    if s.chance(0.4):
        s.ask(f"How many {t.many} does {p} {do} in a week?", f"How many {t.many} does {p.he} {do} in one week?")
        s.mul(f"the number of {t.many} in a week", k, 7)
    else:
        s.ask(f"How many {t.many} does {p} {do} in {n} weeks?")
        week = s.mul(f"the number of {t.many} in a week", k, 7)
        s.mul(f"the number of {t.many} in all the weeks", week, n)


@template("units", "time")
def other_units(s: Scene) -> None:
    p = s.person()
    small, large, size = s.pick(
        ("minute", "hour", 60),
        ("second", "minute", 60),
        ("day", "week", 7),
        ("month", "year", 12),
        ("hour", "day", 24),
        ("inch", "foot", 12),
        ("centimeter", "meter", 100),
        ("cent", "dollar", 100),
        ("egg", "dozen", 12),
    )
    x, y = s.noun(small), s.noun(large)
    many = "dozen" if large == "dozen" else y.many
    thing = s.pick("project", "journey", "building job")
    n = s.n(2, 20)
    statement = {
        "egg": f"A cook [needs|uses] {n} dozen eggs",
        "inch": f"{p}'s [rope|fence|curtain] is {n} feet long",
        "centimeter": f"{p}'s [ribbon|rope|fence] is {n} meters long",
        "cent": f"{p} has {n} dollars",
    }.get(small, f"The {thing} takes {p} {n} {many}")
    s.tell(f"{statement}.")
    s.ask(f"How many {x.many} is [that|this]?")
    if s.chance(0.3) and small not in ("cent", "egg"):
        s.body.clear()
        s.tell(statement.replace(f"{n} {many}", f"{n * size} {x.many}") + ".")
        s.ask(f"How many {y.many} is that?")
        s.require(n * size < 2000)
        s.div(f"the number of {y.many}", n * size, size)
    else:
        s.mul(f"the number of {x.many}", n, size)


@template("units", "things")
def dozens(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing("fruit", "snack", "kitchen", "plant")
    n = s.n(2, 12)
    loss = s.n(2, n * 12 - 1)
    s.tell(f"{p} has {n} dozen {t.many}.", f"{p.he} {s.loses(q, t, loss)}.")
    s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} are left?")
    whole = s.mul(f"the number of {t.many} at first", n, 12)
    s.sub(f"the number of {t.many} {p} has left", whole, loss)


@template("rates", "time pages")
def machine_rate(s: Scene) -> None:
    who, does, do, unit, per = s.pick(
        ("a machine", "makes", "make", "bolt", "minute"),
        ("a printer", "prints", "print", "page", "minute"),
        ("a baker", "bakes", "bake", "loaf of bread", "hour"),
        ("a tap", "fills", "fill", "bucket", "hour"),
        ("a factory", "builds", "build", "bicycle", "day"),
        ("a tailor", "sews", "sew", "button", "minute"),
        ("a pump", "moves", "move", "liter of water", "minute"),
        ("a potter", "makes", "make", "mug", "hour"),
        ("a hen house", "gives", "give", "egg", "day"),
        ("a typist", "types", "type", "word", "minute"),
    )
    t = s.noun(unit)
    n, k = s.n(2, 60), s.n(2, 60)
    the = "the" + who[who.index(" ") :]
    match s.rng.randrange(3):
        case 0:
            s.tell(f"{who} {does} {t(k)} [per|a|every|each] {per}.")
            s.ask(
                f"How many {t.many} does {the} {do} in {n} {per}s?", f"How many {t.many} can {the} {do} in {n} {per}s?"
            )
            s.mul(f"the number of {t.many}", k, n)
        case 1:
            s.tell(f"{who} {does} {t(k)} [per|a|every|each] {per}.")
            s.ask(
                f"How many {per}s does {the} need for {t(n * k)}?",
                f"How long does {the} take to {do} {t(n * k)}, in {per}s?",
            )
            s.div(f"the number of {per}s", n * k, k)
        case _:
            s.tell(f"{who} {does} {t(n * k)} in {n} {per}s.")
            s.ask(f"How many {t.many} does {the} {do} [per|in one|each] {per}?")
            s.div(f"the number of {t.many} per {per}", n * k, n)


@template("speed", "distance time")
def speed_time_distance(s: Scene) -> None:
    who, goes, go = s.pick(
        ("a train", "travels", "travel"),
        ("a car", "drives", "drive"),
        ("a ship", "sails", "sail"),
        ("a bus", "drives", "drive"),
        (str(s.person()), "cycles", "cycle"),
        (str(s.person()), "drives", "drive"),
        ("a plane", "flies", "fly"),
        ("a truck", "travels", "travel"),
        (str(s.person()), "rides", "ride"),
    )
    the = who.replace("a ", "the ", 1) if who.startswith("a ") else who
    unit = s.pick("miles", "kilometers")
    v, h = s.n(5, 120), s.n(2, 12)
    match s.rng.randrange(3):
        case 0:
            s.tell(f"{who} {goes} at [a speed of |]{v} {unit} [per|an] hour.")
            s.ask(f"How far does {the} {go} in {h} hours?", f"How many {unit} does {the} {go} in {h} hours?")
            s.mul(f"the distance in {unit}", v, h)
        case 1:
            s.tell(f"{who} {goes} {v * h} {unit} at {v} {unit} per hour.")
            s.ask(
                "How many hours does the trip take?",
                "How long does the trip take, in hours?",
            )
            s.div("the number of hours", v * h, v)
        case _:
            s.tell(f"{who} {goes} {v * h} {unit} in {h} hours.")
            s.ask(
                f"What is the speed of {the} in {unit} per hour?",
                f"How many {unit} per hour does {the} {go}?",
                f"How fast does {the} {go}, in {unit} per hour?",
            )
            s.div(f"the speed in {unit} per hour", v * h, h)


@template("area", "distance height")
def rectangle(s: Scene) -> None:
    p = s.person()
    plot, unit = s.pick(*PLOTS), s.pick("feet", "meters", "yards")
    a, b = s.n(3, 60), s.n(2, 40)
    s.tell(f"{p}'s {plot} is {a} {unit} long and {b} {unit} wide.")
    if s.chance(0.6):
        s.ask(
            f"What is the area of the {plot} in square {unit}?",
            f"How many square {unit} [does the {plot} cover|is the {plot}]?",
        )
        s.mul(f"the area in square {unit}", a, b)
    else:
        s.ask(
            f"What is the perimeter of the {plot}[| in {unit}]?",
            f"How long is a [fence|border|line] all around the {plot}, in {unit}?",
        )
        half = s.add("the length and the width together", a, b)
        s.mul(f"the perimeter in {unit}", half, 2)


@template("area", "distance height price", name="covered_at_a_price")
def cover_at_a_price(s: Scene) -> None:
    p = s.person()
    plot, unit = s.pick("room", "hall", "patio", "floor", "kitchen"), s.pick("foot", "meter", "yard")
    a, b, cost = s.n(3, 20), s.n(2, 20), s.n(2, 15)
    cover = s.pick("carpet", "tiles", "wood", "paint")
    verb = "cost" if cover == "tiles" else "costs"
    s.tell(
        f"{p}'s {plot} is {a} {words.plural(unit)} long and {b} {words.plural(unit)} wide.",
        f"{cover} {verb} {s.usd(cost)} per square {unit}.",
    )
    s.ask(
        f"How much does it cost to cover the [whole|entire] {plot}?",
        f"How much must {p} pay to cover the {plot}?",
    )
    size = s.mul(f"the area in square {words.plural(unit)}", a, b)
    s.mul(f"the cost of the {cover}", size, cost)


@template("area", "distance height")
def square(s: Scene) -> None:
    p = s.person()
    plot, unit = s.pick(*PLOTS), s.pick("feet", "meters", "inches")
    a = s.n(3, 90)
    s.tell(f"The {plot} {p} [drew|measured|saw] is a square [with sides of|whose sides are] {a} {unit}.")
    if s.chance(0.5):
        s.ask(f"What is its perimeter in {unit}?", f"How many {unit} is it all around?")
        s.mul(f"the perimeter in {unit}", a, 4)
    else:
        s.ask(f"What is its area in square {unit}?")
        s.mul(f"the area in square {unit}", a, a)


@template("age", "age")
def age_then(s: Scene) -> None:
    p = s.person()
    a, n = s.n(6, 60), s.n(2, 30)
    s.tell(f"{p} is {a} years old[.| now.| today.]")
    if s.chance(0.5):
        s.ask(f"How old will {p} be in {n} years?", f"How old will {p.he} be {n} years from now?")
        s.add(f"the age of {p} then", a, n)
    else:
        s.require(a - n > 1)
        s.ask(f"How old was {p} {n} years ago?", f"How old was {p.he} {n} years ago?")
        s.sub(f"the age of {p} then", a, n)


@template("age", "age")
def age_of_other(s: Scene) -> None:
    p, q = s.people(2)
    a, d, n = s.n(6, 50), s.n(2, 25), s.n(2, 20)
    s.tell(f"{p} is {a} years old.")
    if s.chance(0.5):
        s.tell(f"{q} is {d} years older than {p}.")
        second_age = s.add(f"the age of {q}", a, d)
    else:
        s.require(a - d > 1)
        s.tell(f"{q} is {d} years younger than {p}.")
        second_age = s.sub(f"the age of {q}", a, d)
    match s.rng.randrange(3):
        case 0:
            s.ask(f"How old is {q}?", f"What is {q}'s age?")
        case 1:
            s.ask(f"How old will {q} be in {n} years?")
            s.add(f"the age of {q} then", second_age, n)
        case _:
            s.ask("What is the sum of their ages?", "How old are they together?")
            s.add("the sum of their ages", a, second_age)


@template("age", "age")
def age_times(s: Scene) -> None:
    p = s.person()
    elder = s.pick("mother", "father", "uncle", "aunt", "grandfather", "grandmother", "teacher")
    a, k, n = s.n(4, 16), s.n(2, 5), s.n(2, 12)
    s.tell(f"{p} is {a} years old.", f"{p.his} {elder} is {k} times as old as {p.he} is.")
    if s.chance(0.5):
        s.ask(f"How old is {p}'s {elder}?")
        s.mul(f"the age of {p}'s {elder}", a, k)
    else:
        s.ask(f"How old will {p}'s {elder} be in {n} years?")
        now = s.mul(f"the age of {p}'s {elder}", a, k)
        s.add(f"the age of {p}'s {elder} then", now, n)


@template("average", "people")
def average_of_some(s: Scene) -> None:
    p = s.person()
    k = s.pick(2, 3, 3, 4)
    did, unit, where = s.pick(
        ("scored", "point", "games"),
        ("read", "page", "days"),
        ("ran", "lap", "days"),
        ("sold", "ticket", "days"),
        ("caught", "fish", "trips"),
        ("earned", "dollar", "weeks"),
        ("got", "point", "tests"),
        ("picked", "flower", "mornings"),
    )
    t = s.noun(unit)
    values = [s.n(3, 95) for _ in range(k)]
    s.require(sum(values) % k == 0 and len(set(values)) == k)
    values_text = ", ".join(map(str, values[:-1])) + f" and {values[-1]}"
    count = {2: "two", 3: "three", 4: "four"}[k]
    s.tell(f"In {s.pick(count, str(k))} {where}, {p} {did} {values_text} {t.many}.")
    s.ask(
        f"What is the average number of {t.many}[?| per {singular(where)}?]",
        f"How many {t.many} is that on average?",
    )
    total = s.add(f"the total number of {t.many}", *values)
    s.div(f"the average number of {t.many}", total, k)


def singular(many: str) -> str:
    """Return the singular of a regular plural."""
    return many.removesuffix("s")
