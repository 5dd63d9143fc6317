"""Fractions and percentages of a whole, and the rest of the whole."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.scene import Scene
from lumos_queue.benchmarks.wordmath.template import template

#: Denominator → the words for one part; (numerator, denominator) → the words for several parts.
PART = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth", 8: "an eighth", 10: "a tenth"}
PARTS = {
    (2, 3): "two thirds",
    (3, 4): "three quarters",
    (2, 5): "two fifths",
    (3, 5): "three fifths",
    (5, 6): "five sixths",
}
RATES = (5, 10, 15, 20, 25, 30, 35, 40, 45, 55, 60, 65, 70, 75, 80, 85, 90)


def share(s: Scene) -> tuple[int, int, str]:
    """Return a fraction (numerator, denominator) and its text: 'half', '3/4' or 'three quarters'."""
    if s.chance(0.6):
        under = s.pick(2, 2, 3, 3, 4, 4, 5, 6, 8, 10)
        return 1, under, s.pick(PART[under], PART[under], f"1/{under}")
    over, under = s.pick(*PARTS)
    return over, under, s.pick(PARTS[over, under], f"{over}/{under}")


def of_these(portion: str, trait: str) -> str:
    """Return a sentence about a part of a group. The sentence never begins with a digit."""
    return f"Of these, {portion} {trait}." if portion[0].isdigit() else f"{portion} of them {trait}."


def group_and_trait(s: Scene) -> tuple[str, str, str]:
    """Return a noun of a group, its location, and a trait of some members."""
    return s.pick(
        ("student", "in a class", "play a musical instrument"),
        ("student", "in a school", "walk to school"),
        ("guest", "at a party", "wear a hat"),
        ("worker", "in a factory", "work at night"),
        ("cow", "on a farm", "are brown"),
        ("player", "in a club", "are left-handed"),
        ("member", "in a choir", "sing soprano"),
        ("book", "in a library", "are novels"),
        ("house", "on a street", "have a garden"),
        ("passenger", "on a ferry", "are tourists"),
        ("child", "at a camp", "can swim"),
        ("tree", "in a park", "are oaks"),
        ("car", "in a garage", "are electric"),
        ("room", "in a hotel", "are taken"),
    )


@template("fraction_of", "people things")
def fraction_of_a_group(s: Scene) -> None:
    over, under, portion = share(s)
    who, where, trait = group_and_trait(s)
    t = s.noun(who)
    whole = under * s.n(2, 60)
    s.tell(f"There are {t(whole)} {where}.", of_these(portion, trait))
    s.ask(f"How many {t.many} {trait}?", f"How many of the {t.many} {trait}?")
    s.fraction(f"the number of {t.many} that {trait}", whole, over, under)


@template("fraction_of", "people things")
def rest_of_a_group(s: Scene) -> None:
    over, under, portion = share(s)
    who, where, trait = group_and_trait(s)
    t = s.noun(who)
    whole = under * s.n(2, 60)
    head, rest = trait.split(" ", 1)
    negation = f"are not {rest}" if head == "are" else f"cannot {rest}" if head == "can" else f"do not {trait}"
    s.tell(f"There are {t(whole)} {where}.", of_these(portion, trait))
    s.ask(f"How many {t.many} {negation}?", f"How many of them {negation}?")
    some = s.fraction(f"the number of {t.many} that {trait}", whole, over, under)
    s.sub(f"the number of {t.many} that {negation}", whole, some)


@template("fraction_of", "things")
def gave_away_a_part(s: Scene) -> None:
    p, q = s.people(2)
    t = s.thing()
    over, under, portion = share(s)
    whole = under * s.n(2, 60)
    s.tell(
        f"{p} had {t(whole)}.",
        f"{p.he} [gave {portion} of them to {q}|sold {portion} of them|gave {q} {portion} of {p.his} {t.many}].",
    )
    if "sold" not in s.body[-1] and s.chance(0.4):
        s.ask(f"How many {t.many} did {q} get?", f"How many {t.many} did {p} give to {q}?")
        s.fraction(f"the number of {t.many} {q} got", whole, over, under)
    else:
        s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} [are left|remain]?")
        loss = s.fraction(f"the number of {t.many} {p} gave or sold", whole, over, under)
        s.sub(f"the number of {t.many} {p} has left", whole, loss)


@template("fraction_of", "price things", name="spent_a_part")
def spend_a_part(s: Scene) -> None:
    p = s.person()
    t = s.thing("toy", "clothes", "school", "tool")
    over, under, portion = share(s)
    whole = under * s.n(2, 40)
    s.tell(f"{p} [had|earned|saved] {s.usd(whole)}.", f"{p.he} spent {portion} of [it|the money] on {t.a}.")
    s.ask(f"How much [money |]does {p} have left?", "How much is left?")
    expense = s.fraction(f"the money {p} spent", whole, over, under)
    s.sub(f"the money {p} has left", whole, expense)


@template("fraction_twice", "things")
def half_then_half(s: Scene) -> None:
    p, q, r = s.people(3)
    t = s.thing()
    a, b = s.pick(2, 3, 4), s.pick(2, 3, 4, 5)
    whole = s.n(2, 20) * a * b
    s.tell(f"{p} had {t(whole)}.")
    if s.chance(0.5):
        k = s.n(2, whole)
        remaining_value = whole - whole // a
        s.require(k < remaining_value)
        s.tell(f"{p.he} gave {PART[a]} of them to {q}.", f"Then {p.he} {s.loses(r, t, k)}.")
        gift = s.div(f"the number of {t.many} {q} got", whole, a)
        rest = s.sub(f"the number of {t.many} after that", whole, gift)
        s.sub(f"the number of {t.many} {p} has left", rest, k)
    else:
        s.require((whole - whole // a) % b == 0)
        s.tell(
            f"{p.he} gave {PART[a]} of them to {q}.", f"Then {p.he} gave {PART[b]} of [the rest|what was left] to {r}."
        )
        gift = s.div(f"the number of {t.many} {q} got", whole, a)
        rest = s.sub(f"the number of {t.many} after that", whole, gift)
        second_gift = s.div(f"the number of {t.many} {r} got", rest, b)
        s.sub(f"the number of {t.many} {p} has left", rest, second_gift)
    s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} did {p.he} keep?")


@template("percent_of", "people things")
def percent_of_a_group(s: Scene) -> None:
    who, where, trait = group_and_trait(s)
    t = s.noun(who)
    rate, whole = s.pick(*RATES), 20 * s.n(1, 30)
    s.tell(f"There are {t(whole)} {where}.", f"[Of these, |Of them, |Among them, ]{rate}[%| percent] {trait}.")
    some_name = f"the number of {t.many} that {trait}"
    if s.chance(0.6):
        s.ask(f"How many {t.many} {trait}?", f"How many of the {t.many} {trait}?")
        s.percent(some_name, whole, rate)
    else:
        head, rest = trait.split(" ", 1)
        negation = f"are not {rest}" if head == "are" else f"cannot {rest}" if head == "can" else f"do not {trait}"
        s.ask(f"How many {t.many} {negation}?")
        some = s.percent(some_name, whole, rate)
        s.sub(f"the number of {t.many} that {negation}", whole, some)


@template("percent_of", "things")
def percent_used(s: Scene) -> None:
    p = s.person()
    t = s.thing()
    rate, whole = s.pick(*RATES), 20 * s.n(1, 25)
    did, do = s.pick(("sold", "sell"), ("gave away", "give away"), ("lost", "lose"), ("donated", "donate"))
    s.tell(f"{p} had {t(whole)} and {did} {rate}[%| percent] of them.")
    gone_name = f"the number of {t.many} {p} {did}"
    if s.chance(0.5):
        s.ask(f"How many {t.many} did {p} {do}?")
        s.percent(gone_name, whole, rate)
    else:
        s.ask(f"How many {t.many} does {p} have left?", f"How many {t.many} [are left|remain]?")
        loss = s.percent(gone_name, whole, rate)
        s.sub(f"the number of {t.many} {p} has left", whole, loss)


@template("percent_of", "price")
def percent_saved(s: Scene) -> None:
    p = s.person()
    rate, whole, n = s.pick(5, 10, 15, 20, 25, 30, 40, 50), 20 * s.n(2, 60), s.n(2, 12)
    s.tell(f"{p} earns {s.usd(whole)} [a|every|each] month and [saves|puts aside] {rate}[%| percent] of it.")
    if s.chance(0.5):
        s.ask(f"How much does {p} save [in a|each|every] month?")
        s.percent(f"the money {p} saves in a month", whole, rate)
    else:
        s.ask(f"How much does {p} save in {n} months?", f"How much will {p.he} have saved after {n} months?")
        month = s.percent(f"the money {p} saves in a month", whole, rate)
        s.mul(f"the money {p} saves in all the months", month, n)


@template("percent_of", "people height")
def percent_more(s: Scene) -> None:
    beginning, unit, grew = s.pick(
        ("A village has", "people", "its population grows by"),
        ("A farm has", "hens", "the number of hens grows by"),
        ("A club has", "members", "the number of members grows by"),
        ("A tank holds", "fish", "the number of fish grows by"),
        ("A shop gets", "orders", "the number of orders grows by"),
        ("A school has", "students", "the number of students grows by"),
    )
    rate, whole = s.pick(5, 10, 15, 20, 25, 30, 40, 50), 20 * s.n(2, 40)
    s.tell(f"{beginning} {whole} {unit}.", f"[In a year|The next year|After a year], {grew} {rate}[%| percent].")
    s.ask(f"How many {unit} are there then?", f"How many {unit} are there after that?")
    increase = s.percent(f"the increase in {unit}", whole, rate)
    s.add(f"the number of {unit} then", whole, increase)
