"""Equal groups: their total, equal shares, the number of groups, and changes of their contents."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

PACKED = ("fruit", "snack", "vegetable", "school", "toy", "craft", "tool", "kitchen", "plant")


@template("groups_total", "things")
def in_containers(s: Scene) -> None:
    p = s.person()
    c, t = s.container(), s.thing(*PACKED)
    n, k = s.n(2, 60), s.n(2, 60)
    s.tell(
        f"[{p} has|{p} bought|{p} filled|There are|A shop has] {c(n)}[.| of {t.many}.]",
        f"[Each {c.singular}|Every {c.singular}] [holds {t(k)}|contains {t(k)}|has {t(k)} in it].",
    )
    s.ask(
        f"How many {t.many} are there [in all|altogether|in total]?",
        f"How many {t.many} are in the {c.many} [altogether|in total]?",
    )
    s.mul(f"the total number of {t.many}", n, k)


@template("groups_total", "things")
def with_each(s: Scene) -> None:
    p = s.person()
    c, t = s.container(), s.thing(*PACKED)
    n, k = s.n(2, 40), s.n(2, 60)
    s.tell(f"{p} [has|bought|packed|made] {c(n)} with {t(k)} [in each|in each one].")
    s.ask(f"How many {t.many} [is that|are there] [in all|altogether|in total]?", f"How many {t.many} are there?")
    s.mul(f"the total number of {t.many}", n, k)


@template("groups_total", "things")
def for_each_person(s: Scene) -> None:
    p = s.person()
    g, t = s.group(), s.thing()
    n, k = s.n(2, 80), s.n(2, 20)
    s.tell(
        f"[There are {g(n)}|{p} invites {g(n)}|{p} meets {g(n)}].",
        f"[{p} gives each of them {t(k)}|Each {g.singular} gets {t(k)} from {p}].",
    )
    s.ask(
        f"How many {t.many} does {p} [give away|need|hand out] [in all|altogether|in total]?",
        f"How many {t.many} does {p} need for all the {g.many}?",
    )
    s.mul(f"the number of {t.many} for all the {g.many}", n, k)


@template("groups_total")
def in_rows(s: Scene) -> None:
    thing, row, where = s.pick(
        ("chair", "row", "in the hall"),
        ("tree", "row", "in the orchard"),
        ("desk", "row", "in the classroom"),
        ("tile", "row", "on the floor"),
        ("car", "line", "in the parking lot"),
        ("plant", "row", "in the garden"),
        ("photo", "row", "on the wall"),
        ("soldier", "line", "in the parade"),
        ("book", "shelf", "in the library"),
        ("window", "floor", "in the building"),
        ("seat", "car", "on the train"),
        ("dancer", "line", "on the stage"),
    )
    t, r = s.noun(thing), s.noun(row)
    n, k = s.n(2, 40), s.n(2, 60)
    if row in ("row", "line"):
        s.tell(
            f"[The {t.many} {where} stand in {r(n)}|There are {r(n)} of {t.many} {where}].",
            f"Each {r.singular} has {t(k)}.",
        )
    else:
        s.tell(f"There are {r(n)} {where}.", f"[There are {t(k)}|You can count {t(k)}] on each {r.singular}.")
    s.ask(f"How many {t.many} are {where}?", f"How many {t.many} are there {where} [in all|altogether]?")
    s.mul(f"the number of {t.many} {where}", n, k)


@template("groups_total", "pages distance time")
def day_after_day(s: Scene) -> None:
    p = s.person()
    does, do, unit = s.pick(
        ("reads", "read", "page"),
        ("runs", "run", "lap"),
        ("bakes", "bake", "loaf of bread"),
        ("waters", "water", "plant"),
        ("learns", "learn", "new word"),
        ("walks", "walk", "mile"),
        ("paints", "paint", "tile"),
        ("drinks", "drink", "glass of water"),
        ("types", "type", "letter"),
        ("feeds", "feed", "animal"),
        ("fixes", "fix", "bicycle"),
        ("solves", "solve", "puzzle"),
        ("practices", "practice", "song"),
        ("collects", "collect", "shell"),
    )
    t = s.noun(unit)
    per = s.pick("day", "day", "week", "hour", "month")
    n, k = s.n(2, 40), s.n(2, 60)
    s.tell(f"{p} {does} {t(k)} [every|each|a|per] {per}.")
    s.ask(
        f"How many {t.many} does {p} {do} in {n} {per}s?",
        f"How many {t.many} will {p.he} {do} in {n} {per}s?",
        f"In {n} {per}s, how many {t.many} does {p.he} {do}?",
    )
    s.mul(f"the number of {t.many} in all the {per}s", k, n)


@template("share_equally", "things")
def into_containers(s: Scene) -> None:
    p = s.person()
    c, t = s.container(), s.thing(*PACKED)
    n, k = s.n(2, 30), s.n(2, 40)
    s.tell(f"{p} has {t(n * k)}.", f"{p.he} [puts|packs|divides|sorts] them [equally|evenly] into {c(n)}.")
    if s.chance(0.3):
        s.body = [s.say(f"{p} [puts|packs|divides|sorts] {t(n * k)} [equally|evenly] into {c(n)}.")]
    s.ask(
        f"How many {t.many} are in each {c.singular}?",
        f"How many {t.many} does each {c.singular} hold?",
        f"How many {t.many} go into each {c.singular}?",
    )
    s.div(f"the number of {t.many} in each {c.singular}", n * k, n)


@template("share_equally", "things")
def among_people(s: Scene) -> None:
    p = s.person()
    g, t = s.group(), s.thing()
    n, k = s.n(2, 30), s.n(2, 30)
    s.tell(
        f"{p} [has|bought|made|brought] {t(n * k)}.",
        f"{p.he} [shares|divides|splits] them [equally|evenly] among {g(n)}.",
    )
    s.ask(
        f"How many {t.many} does each {g.singular} get?",
        f"How many does each {g.singular} get?",
        f"How many {t.many} will each of them get?",
    )
    s.div(f"the number of {t.many} for each {g.singular}", n * k, n)


@template("share_equally", "pages distance time")
def each_day_the_same(s: Scene) -> None:
    p = s.person()
    did, do, unit = s.pick(
        ("read", "read", "page"),
        ("ran", "run", "mile"),
        ("learned", "learn", "word"),
        ("planted", "plant", "tree"),
        ("washed", "wash", "car"),
        ("wrote", "write", "line"),
        ("solved", "solve", "problem"),
        ("drove", "drive", "kilometer"),
    )
    t = s.noun(unit)
    per = s.pick("day", "day", "week", "hour")
    n, k = s.n(2, 24), s.n(2, 50)
    s.tell(f"{p} {did} {t(n * k)} in {n} {per}s, [the same number each {per}|always the same number a {per}].")
    s.ask(f"How many {t.many} did {p} {do} [each|every|per] {per}?", f"How many {t.many} did {p.he} {do} a {per}?")
    s.div(f"the number of {t.many} per {per}", n * k, n)


@template("share_equally")
def equal_rows(s: Scene) -> None:
    thing, row, of = s.pick(
        ("chair", "row", "in the hall"),
        ("tree", "row", "in the orchard"),
        ("child", "team", "at the sports day"),
        ("student", "class", "in the school"),
        ("student", "group", "on the trip"),
        ("book", "shelf", "in the library"),
        ("passenger", "boat", "on the tour"),
        ("camper", "tent", "in the camp"),
        ("guest", "table", "at the wedding"),
    )
    t, r = s.noun(thing), s.noun(row)
    n, k = s.n(2, 30), s.n(2, 40)
    s.tell(
        f"There are {t(n * k)} {of}.", f"[They are split equally over {r(n)}|There are {r(n)}, all of the same size]."
    )
    s.ask(f"How many {t.many} [are there for each {r.singular}|does each {r.singular} have]?")
    s.div(f"the number of {t.many} for each {r.singular}", n * k, n)


@template("groups_needed", "things")
def containers_needed(s: Scene) -> None:
    p = s.person()
    c, t = s.container(), s.thing(*PACKED)
    n, k = s.n(2, 40), s.n(2, 30)
    s.tell(
        f"{p} [has|wants to pack|needs to pack] {t(n * k)}.",
        f"[Each {c.singular} holds {k}|{p.he} puts {k} in each {c.singular}|Exactly {k} fit in a {c.singular}].",
    )
    s.ask(
        f"How many {c.many} does {p} need?",
        f"How many {c.many} will {p.he} [fill|need]?",
        f"How many {c.many} are needed?",
    )
    s.div(f"the number of {c.many} needed", n * k, k)


@template("groups_needed", "pages distance time")
def days_needed(s: Scene) -> None:
    p = s.person()
    does, _, unit, goal = s.pick(
        ("reads", "read", "page", "a book of {n} pages"),
        ("learns", "learn", "word", "a list of {n} words"),
        ("lays", "lay", "brick", "a wall of {n} bricks"),
        ("walks", "walk", "mile", "a trail of {n} miles"),
        ("paints", "paint", "tile", "a picture of {n} tiles"),
        ("knits", "knit", "row", "a scarf of {n} rows"),
        ("solves", "solve", "problem", "a set of {n} problems"),
        ("plants", "plant", "tree", "a row of {n} trees"),
    )
    t = s.noun(unit)
    per = s.pick("day", "day", "hour", "week")
    n, k = s.n(2, 30), s.n(2, 40)
    s.tell(f"{p} wants to finish {goal.format(n=n * k)}.", f"{p.he} {does} {t(k)} [every|each|a|per] {per}.")
    s.ask(
        f"How many {per}s does {p} need?",
        f"How many {per}s will it take {p.him}[ to finish|]?",
        f"In how many {per}s will {p.he} finish?",
    )
    s.div(f"the number of {per}s {p} needs", n * k, k)


@template("groups_needed", "people")
def groups_of(s: Scene) -> None:
    member, group = s.pick(
        ("student", "team"),
        ("child", "group"),
        ("player", "team"),
        ("guest", "table"),
        ("visitor", "tour group"),
        ("worker", "crew"),
        ("camper", "tent"),
        ("dancer", "circle"),
        ("singer", "row"),
    )
    t, g = s.noun(member), s.noun(group)
    n, k = s.n(2, 30), s.n(2, 20)
    s.tell(
        f"There are {t(n * k)}.",
        f"[Each {g.singular} has|Every {g.singular} consists of|A {g.singular} has room for] {k} {t.many}.",
    )
    s.ask(f"How many {g.many} [are there|are needed|do they make]?")
    s.div(f"the number of {g.many}", n * k, k)


@template("groups_plus", "things")
def groups_and_extra(s: Scene) -> None:
    p, q = s.people(2)
    c, t = s.container(), s.thing(*PACKED)
    n, k, extra = s.n(2, 30), s.n(2, 40), s.n(2, 60)
    s.tell(f"{p} has {c(n)} with {t(k)} [in each|each].")
    s.tell(
        f"[{p.he} also has {extra} loose {t.many}|{q} gives {p.him} {t(extra, 'more')}|There are {extra} more "
        f"{t.many} on the table]."
    )
    s.ask(f"How many {t.many} [are there|does {p} have] [in all|altogether|in total]?")
    inside = s.mul(f"the number of {t.many} in the {c.many}", n, k)
    s.add(f"the total number of {t.many}", inside, extra)


@template("groups_minus", "things")
def groups_then_loss(s: Scene) -> None:
    p, q = s.people(2)
    c, t = s.container(), s.thing(*PACKED)
    n, k, loss = s.n(2, 30), s.n(2, 40), s.n(2, 100)
    s.require(loss < n * k)
    s.tell(
        f"{p} [has|bought|filled] {c(n)}[.| of {t.many}.]",
        f"Each {c.singular} [holds|contains] {t(k)}.",
        f"{p.he} {s.loses(q, t, loss)}.",
    )
    s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} [are left|remain]?")
    inside = s.mul(f"the number of {t.many} in the {c.many}", n, k)
    s.sub(f"the number of {t.many} {p} has left", inside, loss)


@template("groups_minus", "things", name="left_over")
def leave_a_rest(s: Scene) -> None:
    p = s.person()
    g, t = s.group(), s.thing()
    n, k = s.n(2, 30), s.n(2, 12)
    a = n * k + s.n(1, 60)
    s.tell(
        f"{p} has {t(a)}.",
        f"{p.he} gives {k} [of them |]to each of {g(n)}.",
    )
    s.ask(f"How many {t.many} [are left|does {p} have left|does {p} keep]?")
    gift = s.mul(f"the number of {t.many} {p} gives away", n, k)
    s.sub(f"the number of {t.many} left", a, gift)


@template("two_kinds_of_groups", "things")
def two_sizes(s: Scene) -> None:
    p = s.person()
    c, d = s.container(), s.container()
    t = s.thing(*PACKED)
    n, k, m, j = s.n(2, 20), s.n(2, 30), s.n(2, 20), s.n(2, 30)
    s.tell(f"{p} has {c(n)} [with|of] {t(k)} each and {d(m)} [with|of] {t(j)} each.")
    s.ask(
        f"How many {t.many} does {p} have [in all|altogether|in total]?",
        f"How many {t.many} are there [in all|in total]?",
    )
    x = s.mul(f"the number of {t.many} in the {c.many}", n, k)
    y = s.mul(f"the number of {t.many} in the {d.many}", m, j)
    s.add(f"the total number of {t.many}", x, y)


@template("two_kinds_of_groups", "people")
def points_scored(s: Scene) -> None:
    p = s.person()
    hard, easy = s.pick(("hard", "easy"), ("blue", "red"), ("big", "small"), ("long", "short"), ("gold", "silver"))
    target = s.noun(s.pick("target", "ring", "question", "puzzle", "balloon", "coin"))
    n, k, m, j = s.n(2, 12), s.n(2, 25), s.n(2, 12), s.n(2, 25)
    hard_target, easy_target = s.noun(f"{hard} {target.singular}"), s.noun(f"{easy} {target.singular}")
    s.tell(
        f"In a game, {hard_target.a} is worth {k} points and {easy_target.a} is worth {j} points.",
        f"{p} scores with {hard_target(n)} and {easy_target(m)}.",
    )
    s.ask(f"How many points does {p} [get|score|have] [in all|altogether|in total]?")
    x, y = s.mul_both(
        (f"the points for the {hard} {target.many}", n, k), (f"the points for the {easy} {target.many}", m, j)
    )
    s.add("the total number of points", x, y)
