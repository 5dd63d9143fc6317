"""Parts make a whole. Questions ask for the whole or for a missing part."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

#: (past tense, bare form, kinds of objects) of deeds that can be added for two people or two days.
DEEDS = (
    ("picked", "pick", ("fruit", "vegetable", "plant")),
    ("sold", "sell", ("fruit", "snack", "craft", "plant", "vegetable")),
    ("made", "make", ("craft", "snack")),
    ("collected", "collect", ("toy",)),
    ("bought", "buy", ("school", "clothes", "tool", "kitchen", "fruit")),
    ("packed", "pack", ("school", "clothes", "kitchen", "snack")),
    ("washed", "wash", ("clothes", "vegetable", "fruit")),
    ("found", "find", ("toy", "school")),
    ("counted", "count", ("plant", "tool", "toy")),
    ("planted", "plant", ("plant",)),
)
UNITS_DONE = (
    ("ran", "run", "lap"),
    ("read", "read", "page"),
    ("walked", "walk", "mile"),
    ("drove", "drive", "kilometer"),
    ("wrote", "write", "line"),
    ("solved", "solve", "problem"),
    ("swam", "swim", "length"),
    ("typed", "type", "page"),
    ("watched", "watch", "movie"),
    ("delivered", "deliver", "parcel"),
    ("cleaned", "clean", "room"),
)


@template("combine_total", "things")
def two_people(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    a, b = s.n(2, 400), s.n(2, 400)
    if s.chance(0.5):
        s.tell(f"{p} has {t(a)} and {q} has {s.pick(t(b), str(b))}.")
    else:
        s.tell(f"{p} has {t(a)}.", f"{q} has {s.pick(t(b), str(b))}.")
    s.ask(
        f"How many {t.many} do {p} and {q} have [altogether|together|in all|in total]?",
        f"How many {t.many} do they have [altogether|together|in all|in total]?",
        f"What is the total number of {t.many} {p} and {q} have?",
    )
    s.add(f"the number of {t.many} {p} and {q} have together", a, b)


@template("combine_total", "things")
def two_doers(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    a, b = s.n(2, 300), s.n(2, 300)
    s.tell(f"{p} {did} {t(a)}[ and|, while] {q} {did} {s.pick(t(b), str(b))}.")
    s.ask(
        f"How many {t.many} did they {do} [altogether|together|in all|in total]?",
        f"How many {t.many} were {did} [altogether|in all]?",
        f"[In total, how|Altogether, how] many {t.many} did {p} and {q} {do}?",
    )
    s.add(f"the number of {t.many} {p} and {q} {did} together", a, b)


@template("combine_total", "things")
def two_colors(s: Scene) -> None:
    t = s.thing("toy", "clothes", "plant", "school", "craft", "kitchen")
    first_color, second_color = s.colors(2)
    a, b = s.n(2, 250), s.n(2, 250)
    location = s.pick(f"in the {s.container().singular}", "on the table", "in the shop", "in the classroom")
    s.tell(f"There are {a} {first_color} {t.many} and {b} {second_color} {t.many} {location}.")
    s.ask(
        f"How many {t.many} are {location} [in all|altogether|in total]?",
        f"How many {t.many} are there [in all|altogether]?",
    )
    s.add(f"the number of {t.many} {location}", a, b)


@template("combine_total", "pages distance time")
def two_days(s: Scene) -> None:
    did, do, unit = s.pick(*UNITS_DONE)
    p = s.person()
    u = s.noun(unit)
    a, b = s.n(2, 90), s.n(2, 90)
    first_day, second_day = s.days(2) if s.chance(0.6) else s.months(2)
    on = "on" if first_day in words.DAYS else "in"
    s.tell(f"{p} {did} {u(a)} {on} {first_day} and {u(b)} {on} {second_day}.")
    s.ask(
        f"How many {u.many} did {p} {do} [in all|altogether|in total]?",
        f"How many {u.many} did {p.he} {do} {'on those two days' if on == 'on' else 'in those two months'}?",
    )
    s.add(f"the number of {u.many} {p} {did}", a, b)


@template("combine_total", "things")
def three_parts(s: Scene) -> None:
    p = s.person()
    x, y, z = s.things(3, "fruit", "snack", "toy", "school", "kitchen", "plant", "clothes", "vegetable")
    a, b, c = s.n(2, 120), s.n(2, 120), s.n(2, 120)
    word = {"fruit": "pieces of fruit", "clothes": "pieces of clothing"}.get(x.kind, "things")
    s.tell(f"[{p} bought|{p} has|For the fair, {p} packed|In {p}'s bag, there are] {x(a)}, {y(b)} and {z(c)}.")
    s.ask(f"How many {word} [is that|are there] [in all|altogether|in total]?")
    s.add(f"the total number of {word}", a, b, c)


@template("combine_total")
def three_days(s: Scene) -> None:
    thing, who, verb = s.pick(
        ("visitor", "[a museum|a zoo|a castle]", "had"),
        ("loaf of bread", "[a bakery|the baker]", "sold"),
        ("cup of coffee", "[a cafe|the cafe]", "sold"),
        ("ticket", "[a theater|the cinema]", "sold"),
        ("parcel", "[the post office|a courier]", "delivered"),
        ("car", "[a garage|a workshop]", "repaired"),
    )
    t = s.noun(thing)
    a, b, c = s.n(5, 300), s.n(5, 300), s.n(5, 300)
    x, y, z = s.days(3)
    venue = s.say(who)
    do = {"had": "have", "sold": "sell", "delivered": "deliver", "repaired": "repair"}[verb]
    s.tell(f"{venue} {verb} {t(a)} on {x}, {b} on {y} and {c} on {z}.")
    venue = venue.replace("a ", "the ", 1) if venue.startswith("a ") else venue
    s.ask(f"How many {t.many} did {venue} {do} [in all|altogether|in total|over the three days]?")
    s.add(f"the number of {t.many} over the three days", a, b, c)


@template("part_missing", "things")
def other_color(s: Scene) -> None:
    t = s.thing("toy", "clothes", "plant", "school", "craft", "kitchen")
    first_color, second_color = s.colors(2)
    total = s.n(8, 400)
    a = s.n(2, total - 2)
    holder = s.pick(f"in the {s.container().singular}", "on the table", f"in {s.person()}'s room")
    s.tell(f"There are {t(total)} {holder}.")
    s.tell(f"[Among them|Of these], {a} are {first_color} and the [rest|others] are {second_color}.")
    s.ask(
        f"How many {t.many} are {second_color}?",
        f"How many {second_color} {t.many} are there?",
        f"How many {second_color} {t.many} are {holder}?",
    )
    s.sub(f"the number of {second_color} {t.many}", total, a)


@template("part_missing")
def other_people(s: Scene) -> None:
    first_kind, second_kind = s.pick(
        ("girl", "boy"), ("adult", "child"), ("man", "woman"), ("teacher", "student"), ("beginner", "expert")
    )
    x, y = s.noun(first_kind), s.noun(second_kind)
    if s.chance(0.5):
        x, y = y, x
    total = s.n(10, 600)
    a = s.n(3, total - 3)
    location = s.pick(
        "in the choir", "in the club", "on the ferry", "at the concert", "in the hall", "at the meeting", "in the camp"
    )
    s.tell(
        f"There are {total} people {location}[. Of these, {a} are|. Exactly {a} of them are|, and {a} of them are] "
        f"{x.many}."
    )
    s.tell(f"[All the others|The rest] are {y.many}.")
    s.ask(f"How many {y.many} are {location}?", f"How many {y.many} are there?")
    s.sub(f"the number of {y.many} {location}", total, a)


@template("part_missing", "pages distance time")
def other_day(s: Scene) -> None:
    did, do, unit = s.pick(*UNITS_DONE)
    p = s.person()
    u = s.noun(unit)
    total = s.n(8, 200)
    a = s.n(2, total - 2)
    first_day, second_day = s.days(2)
    s.tell(f"{p} {did} {u(total)} [in all|altogether|in total] on {first_day} and {second_day}.")
    day, other_day = (first_day, second_day) if s.chance(0.6) else (second_day, first_day)
    s.tell(f"[On {day}, {p.he} {did} {a}|{p.he} {did} {u(a)} on {day}|Of these, {a} were on {day}].")
    s.ask(f"How many {u.many} did {p} {do} on {other_day}?")
    s.sub(f"the number of {u.many} {p} {did} on {other_day}", total, a)


@template("part_missing", "things")
def other_person(s: Scene) -> None:
    did, do, kinds = s.pick(*DEEDS)
    p, q = s.people(2)
    t = s.thing(*kinds)
    total = s.n(8, 400)
    a = s.n(2, total - 2)
    s.tell(f"[Together,|In total,] {p} and {q} {did} {t(total)}.", f"{p} {did} {s.pick(t(a), str(a), f'{a} of them')}.")
    s.ask(f"How many {t.many} did {q} {do}?", f"How many did {q} {do}?")
    s.sub(f"the number of {t.many} {q} {did}", total, a)
