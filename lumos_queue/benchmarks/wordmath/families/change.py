"""A quantity changes: some go, some come. Questions ask for the end, the change or the start."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

STOCKS = (
    (
        "liter of water",
        "in the tank",
        "[were used for the garden|leaked out|were pumped out]",
        "[were poured in|were added]",
    ),
    ("kilogram of rice", "in the kitchen", "[were cooked|were used|were given away]", "[were delivered|were bought]"),
    (
        "bag of cement",
        "at the building site",
        "[were used|were taken away]",
        "[were delivered|were ordered and brought]",
    ),
    ("sheet of paper", "in the printer", "[were printed on|were used]", "[were added|were put in]"),
    ("meter of rope", "in the garage", "[were cut off|were used]", "[were bought|were added]"),
    ("loaf of bread", "in the bakery", "[were sold|were given away]", "[were baked|were made]"),
    ("seat", "in the hall", "[were taken out|were removed]", "[were brought in|were added]"),
    ("gallon of paint", "in the workshop", "[were used on the fence|were sold]", "[were bought|were delivered]"),
    ("pound of flour", "in the pantry", "[were used for baking|were given away]", "[were bought|were brought home]"),
    ("ticket", "at the counter", "[were sold|were given away]", "[were printed|were added]"),
)


@template("loss_left")
def person_loses(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a = s.n(5, 400)
    b = s.n(2, a - 1)
    s.tell(f"{p} [had|has|started with|owned|had collected] {t(a)}.", f"[{p.he}|{p}] {s.loses(q, t, b)}.")
    s.ask(
        f"How many {t.many} does {p} have [left|now|left over]?",
        f"How many {t.many} did {p.he} have [left|then|afterwards]?",
        f"How many {t.many} [are left|remain|does {p.he} still have]?",
    )
    s.sub(f"the number of {t.many} {p} has left", a, b)


@template("loss_left")
def crowd_leaves(s: Scene) -> None:
    c = s.crowd()
    a = s.n(5, 300)
    b = s.n(2, a - 1)
    s.tell(f"[There were|[At first|In the morning|At noon], there were] {c.who(a)} {c.location}.")
    s.tell(f"[Then|After a while|Later|A little later,|Soon|An hour later] {b} of them {c.go}.")
    s.ask(
        f"How many {c.who.many} [are left|are still|stayed|remained|are now] {c.location}?",
        f"How many {c.who.many} were [left|still] {c.location}?",
    )
    s.sub(f"the number of {c.who.many} left {c.location}", a, b)


@template("loss_left")
def stock_is_used(s: Scene) -> None:
    thing, location, loss, _ = s.pick(*STOCKS)
    t = s.noun(thing)
    a = s.n(12, 900)
    b = s.n(3, a - 2)
    s.tell(
        f"There were {t(a)} {location}.", f"[On {s.days(1)[0]}|Yesterday|During the week|Last night], {t(b)} {loss}."
    )
    s.ask(
        f"How many {t.many} [are left|remain|are still] {location}?",
        f"How many {t.many} are left {location} [now|in the end]?",
    )
    s.sub(f"the number of {t.many} left {location}", a, b)


@template("loss_left", "pages distance")
def way_to_go(s: Scene) -> None:
    p = s.person()
    a = s.n(20, 900)
    b = s.n(4, a - 3)
    match s.rng.randrange(4):
        case 0:
            s.tell(f"{p} is reading a [book|novel|story] [with|of|that has] {a} pages.")
            s.tell(f"[So far,|Until now,] {p.he} has [read|finished] {b} [pages|of them].")
            s.ask(f"How many [more pages|pages] does {p} [still have to|have left to] read?")
            s.sub(f"the number of pages {p} has left to read", a, b)
        case 1:
            s.tell(
                f"The [trip|drive|way] from {p}'s home to the [coast|city|lake|mountains] is {a} "
                f"[miles|kilometers] long."
            )
            unit = "miles" if "miles" in s.body[-1] else "kilometers"
            s.tell(f"{p} has [driven|traveled|covered] {b} {unit} [so far|already].")
            s.ask(f"How many {unit} [are left|does {p.he} still have to go|are still to go]?")
            s.sub(f"the number of {unit} left", a, b)
        case 2:
            s.tell(
                f"[A movie|A concert|A play|A lesson] {p} attends lasts {a} minutes.",
                f"So far, {b} minutes have passed.",
            )
            s.ask("How many minutes are left?", "How many more minutes will it last?")
            s.sub("the number of minutes left", a, b)
        case _:
            s.tell(f"{p} has a ribbon that is {a} [centimeters|inches] long.")
            unit = "inches" if "inches" in s.body[-1] else "centimeters"
            s.tell(f"{p.he} cuts off {b} {unit} [for a present|to tie a box|for a bow].")
            s.ask(f"How [long is the rest of the ribbon, in {unit}|many {unit} of ribbon are left]?")
            s.sub(f"the number of {unit} of ribbon left", a, b)


@template("gain_total")
def person_gains(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, b = s.n(3, 400), s.n(2, 300)
    s.tell(f"{p} [had|has|started with|owned|had collected] {t(a)}.", f"[Then {p.he}|{p.he}|{p}] {s.gains(q, t, b)}.")
    s.ask(
        f"How many {t.many} does {p} have [now|altogether|in all|in total]?",
        f"How many {t.many} did {p.he} have [then|in the end|after that]?",
    )
    s.add(f"the number of {t.many} {p} has now", a, b)


@template("gain_total")
def crowd_grows(s: Scene) -> None:
    c = s.crowd()
    a, b = s.n(3, 300), s.n(2, 200)
    arrivals = f"{b} more" if s.chance(0.5) else c.who(b, "more")
    s.tell(f"[There were|[At first|In the morning|At noon], there were] {c.who(a)} {c.location}.")
    s.tell(f"[Then|After a while|Later|A little later,|Soon|An hour later] {arrivals} {c.come}.")
    s.ask(
        f"How many {c.who.many} are {c.location} [now|altogether|in total]?",
        f"How many {c.who.many} were {c.location} [then|after that]?",
    )
    s.add(f"the number of {c.who.many} {c.location} now", a, b)


@template("gain_total")
def stock_is_filled(s: Scene) -> None:
    thing, location, _, gain = s.pick(*STOCKS)
    t = s.noun(thing)
    a, b = s.n(5, 600), s.n(3, 500)
    s.tell(
        f"There were {t(a)} {location}.", f"[On {s.days(1)[0]}|Yesterday|During the week|Today], {t(b, 'more')} {gain}."
    )
    s.ask(
        f"How many {t.many} are {location} [now|in all|in total]?",
        f"How many {t.many} does that make [in all|altogether]?",
    )
    s.add(f"the number of {t.many} {location} now", a, b)


@template("gain_total", "height weather")
def grows(s: Scene) -> None:
    p = s.person()
    a, b = s.n(5, 90), s.n(2, 40)
    beginning, unit, grew = s.pick(
        (f"{p}'s sunflower was", "centimeters tall", "it grew"),
        (f"{p} was", "inches tall", f"{p.he} grew"),
        (f"the puppy {p} adopted weighed", "pounds", "it gained"),
        (f"{p}'s snow fort was", "feet wide", f"{p.he} made it wider by"),
        (f"the wall {p} is building was", "bricks high", f"{p.he} raised it by"),
    )
    noun = unit.split()[0]
    s.tell(f"[Last month,|A year ago,|At first,|Last week,] {beginning} {a} {unit}.")
    s.tell(f"Since then, {grew} [another |]{b} {noun}.")
    final = beginning.removesuffix(" was").removesuffix(" weighed")
    name = (
        "weight" if "weighed" in beginning else {"tall": "height", "wide": "width", "high": "height"}[unit.split()[1]]
    )
    whose = final if final.endswith(("adopted", "building")) else "it" if "'s" in final else final
    if name == "weight":
        s.ask(f"How many pounds does {whose} weigh now?")
    else:
        s.ask(f"How many {unit} is {whose} now?")
    s.add(f"the {name} in {noun} now", a, b)


@template("change_unknown", name="gained_how_many")
def gain_how_many(s: Scene) -> None:
    p = s.person()
    t = s.thing()
    a = s.n(3, 300)
    c = a + s.n(2, 200)
    did, do = s.pick(
        ("bought some more", "buy"),
        ("found some more", "find"),
        ("got some more from a friend", "get"),
        ("was given some more", "get"),
        ("ordered more", "order"),
        ("received a few more", "receive"),
    )
    s.tell(f"{p} had {t(a)}.", f"{p.he} {did}.")
    s.tell(f"Now {p.he} has {s.pick(t(c), str(c), f'{c} of them')}.")
    s.ask(f"How many {t.many} did {p} {do}?", f"How many [more {t.many}|{t.many}] did {p.he} {do}?")
    s.sub(f"the number of {t.many} {p} got", c, a)


@template("change_unknown", name="lost_how_many")
def lose_how_many(s: Scene) -> None:
    p = s.person()
    t = s.thing()
    a = s.n(5, 400)
    c = s.n(2, a - 2)
    did, do = s.pick(
        ("lost some", "lose"),
        ("gave some away", "give away"),
        ("sold some of them", "sell"),
        ("used some", "use"),
        ("gave some to a friend", "give to a friend"),
        ("donated a few of them", "donate"),
    )
    s.tell(f"{p} had {t(a)}.", f"{p.he} {did}.")
    s.tell(f"[Now {p.he} has {c} left|There are {c} left|{p.he} still has {c}|{p.he} has {t(c)} left].")
    s.ask(f"How many {t.many} did {p} {do}?", f"How many did {p.he} {do}?")
    s.sub(f"the number of {t.many} that are gone", a, c)


@template("change_unknown")
def crowd_changed_by(s: Scene) -> None:
    c = s.crowd()
    a = s.n(4, 200)
    b = s.n(2, 90)
    s.tell(f"There were {c.who(a)} {c.location}.")
    if s.chance(0.5):
        s.tell(
            f"[Then some more|Some more|Later, some more] {c.come}.",
            f"Now there are {a + b} {c.who.many} {c.location}.",
        )
        s.ask(f"How many {c.who.many} {c.come}?", f"How many more {c.who.many} {c.come}?")
        s.sub(f"the number of {c.who.many} that came", a + b, a)
    else:
        s.require(a - b > 1)
        s.tell(
            f"[Then some|Some|Later, some] of them {c.go}.", f"Now there are [only |]{a - b} {c.who.many} {c.location}."
        )
        s.ask(f"How many {c.who.many} {c.go}?", f"How many of the {c.who.many} {c.go}?")
        s.sub(f"the number of {c.who.many} that went away", a, a - b)


@template("change_unknown")
def still_needed(s: Scene) -> None:
    p = s.person()
    t = s.thing()
    goal = s.n(8, 500)
    have = s.n(2, goal - 2)
    s.tell(
        f"{p} [needs|wants to collect|has to make|would like to have] {t(goal)}[ for a party| for the fair| for "
        f"school|]."
    )
    s.tell(f"[So far,|Until now,|At the moment] {p.he} has [only |]{s.pick(str(have), t(have))}.")
    s.ask(f"How many more {t.many} does {p} need?", f"How many {t.many} [are still missing|is {p.he} still missing]?")
    s.sub(f"the number of {t.many} {p} still needs", goal, have)
