"""Lengths, weights, ages, temperatures and times: compared, added, and cut into pieces."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.families.compare import times

#: (things to compare, unit, adjective, comparative of more, comparative of less, smallest, largest)
SIZES = (
    ("ribbon rope board bench snake tunnel bridge fence", "feet", "long", "longer", "shorter", 4, 90),
    ("river street trail", "miles", "long", "longer", "shorter", 4, 200),
    ("tower tree ladder pole statue", "meters", "tall", "taller", "shorter", 3, 80),
    ("pencil crayon worm candle", "centimeters", "long", "longer", "shorter", 4, 60),
    ("well hole pool", "meters", "deep", "deeper", "shallower", 2, 30),
    ("film song lesson concert", "minutes", "long", "longer", "shorter", 3, 150),
    ("wall hedge bookcase", "inches", "high", "higher", "lower", 20, 99),
    ("river road carpet", "meters", "wide", "wider", "narrower", 2, 60),
    ("castle bridge church", "years", "old", "older", "younger", 20, 500),
)
WHICH = (("first", "second"), ("old", "new"), ("left", "right"))
PAINTED = (("red", "blue"), ("green", "yellow"), ("white", "brown"))
UNPAINTED = ("river", "street", "trail", "film", "song", "lesson", "concert", "tunnel", "well", "hole")
HEAVY = ["suitcase", "parcel", "melon", "dog", "cat", "box", "pumpkin", "stone", "sack"]
MATERIALS = (
    ("rope", "meter", "piece"),
    ("ribbon", "inch", "strip"),
    ("wire", "foot", "piece"),
    ("cloth", "yard", "piece"),
    ("wood", "foot", "plank"),
    ("string", "centimeter", "piece"),
)
STOCKS = (
    ("cup", "flour", "the recipe"),
    ("liter", "paint", "the fence"),
    ("kilogram", "sugar", "the jam"),
    ("pound", "rice", "the feast"),
    ("gallon", "water", "the aquarium"),
    ("bag", "cement", "the wall"),
    ("cup", "sugar", "the cake"),
    ("spoon", "salt", "the soup"),
    ("meter", "cloth", "the curtains"),
    ("liter", "milk", "the pudding"),
    ("roll", "wallpaper", "the room"),
    ("sheet", "paper", "the project"),
)


def sizes(story: Story) -> None:
    """Begin a story that compares two things, or the ages, heights or weights of two persons."""
    s = story.scene
    if s.chance(0.35):
        p, q = s.people(2)
        unit, verb, adjective, comparative, less, low, high = s.pick(
            ("years", "is", "old", "older", "younger", 5, 80),
            ("inches", "is", "tall", "taller", "shorter", 35, 78),
            ("centimeters", "is", "tall", "taller", "shorter", 80, 195),
            ("pounds", "weighs", "", "heavier", "lighter", 30, 180),
        )
        names = [str(p), str(q)]
    elif s.chance(0.25):
        first_thing, second_thing = s.rng.sample(HEAVY, 2)
        names = [f"the {first_thing}", f"the {second_thing}"]
        unit, verb, adjective, comparative, less, low, high = (
            s.pick("pounds", "kilograms"),
            "weighs",
            "",
            "heavier",
            "lighter",
            3,
            60,
        )
    else:
        things, unit, adjective, comparative, less, low, high = s.pick(*SIZES)
        verb, thing = "is", s.pick(*things.split())
        names = [
            f"the {adjective_of_name} {thing}"
            for adjective_of_name in s.pick(*(WHICH[:2] if thing in UNPAINTED else WHICH + PAINTED))
        ]
    values = [s.n(low, high), s.n(low, high)]
    if s.chance(0.2) and unit != "years":
        values[1] = values[0] * s.pick(2, 3, 4)
    s.require(values[0] != values[1])
    ends = f" {adjective}" if adjective else ""
    question_form = f"how {adjective} is {{x}}" if adjective else "how much does {x} weigh"
    sized_names = []
    for name, value in zip(names, values, strict=True):
        size = story.new(f"the {unit} of {name}", value)
        story.tell(size, f"{name} {verb} {value} {unit}{ends}", weight=3)
        story.ask(size, f"{question_form.format(x=name)}{f' in {unit}' if s.chance(0.3) else ''}")
        sized_names.append((size, name))
    (high_size, big), (low_size, small) = sorted(sized_names, key=lambda item: -story.value(item[0]))
    gap = story.less(f"the difference in {unit}", high_size, low_size)
    apart = int(story.value(gap))
    word = unit if apart > 1 else {"feet": "foot", "inches": "inch"}.get(unit, unit.removesuffix("s"))
    story.tell(
        gap,
        f"[{big} is {apart} {word} {comparative} than {small}|{small} is {apart} {word} {less} than {big}]",
        0.5,
        2.5,
    )
    story.ask(
        gap,
        f"how many {unit} {comparative} is {big} than {small}",
        f"how much {comparative} is {big} than {small}",
        f"how many {unit} {less} is {small} than {big}",
    )
    story.use("difference")
    factor, rest = divmod(int(story.value(high_size)), int(story.value(low_size)))
    if rest == 0 and factor > 1 and adjective:
        ratio = story.new(f"how many times {big} is {small}", factor)
        story.graph.product(high_size, low_size, ratio)
        story.tell(ratio, f"{big} is {times(s, factor)} as {adjective} as {small}", 0.5, 3)
        story.ask(ratio, f"how many times as {adjective} is {big} as {small}")
        story.use("times as many")
    both = story.sum_of(f"the {unit} of both", high_size, low_size)
    if adjective == "long" or verb == "weighs":
        both_names = f"{names[0]} and {names[1]}"
        story.ask(
            both, f"how long are {both_names} together" if adjective else f"how much do {both_names} weigh together"
        )
        total = int(story.value(both))
        sentence = (
            f"{both_names} are {total} {unit} long together"
            if adjective
            else f"{both_names} weigh {total} {unit} together"
        )
        story.tell(both, sentence, at=0.6, plain=False)
        story.use("altogether")
    if unit == "years" and names[0][0].isupper() and s.chance(0.6):
        _later(story, names, [size for size, _ in sized_names])


def _later(story: Story, names: list[str], ages: list[int]) -> None:
    s = story.scene
    span = story.new("the years until then", s.n(2, 20))
    years = int(story.value(span))
    name, age = (names[0], ages[0]) if s.chance(0.5) else (names[1], ages[1])
    then = story.sum_of(f"the age of {name} then", age, span)
    story.tell(
        (then, span),
        f"in {years} years, {name} will be {int(story.value(then))} years old",
        at=1,
        weight=2,
        plain=False,
    )
    story.use("before and after")


def cut_material(story: Story) -> None:
    """Begin a story about a length of material, which is cut into equal pieces or shortened."""
    s = story.scene
    material, unit_one, piece_one = s.pick(*MATERIALS)
    unit, piece, person = s.noun(unit_one), s.noun(piece_one), s.person()
    if s.chance(0.5):
        many, piece_length = s.n(2, 20), s.n(2, 20)
        count, size = (
            story.new(f"the number of {piece.many}", many),
            story.new(f"the length of each {piece.singular}", piece_length),
        )
        used_material = story.product_of(f"the {unit.many} of {material} in the {piece.many}", count, size)
        story.tell(count, f"{person} cut {piece(many)} of the same length from the {material}", at=1, weight=3)
        story.tell(size, f"each {piece.singular} is {unit(piece_length)} long", at=2, weight=3, plain=False)
        story.hint(count, f"{person} cut {piece.many} of the same length from the {material}", 1)
        story.ask(count, f"how many {piece.many} did {person} [get|cut]")
        story.ask(size, f"how many {unit.many} long is each {piece.singular}", f"how long is each {piece.singular}")
        story.use("groups of")
    else:
        used_material = story.new(f"the {unit.many} of {material} used", s.n(2, 60))
        story.tell(
            used_material, f"{person} [cut off|used] {unit(int(story.value(used_material)))} of {material}", 1, 3
        )
        story.hint(used_material, f"{person} cut off some of the {material}", 1)
        story.ask(used_material, f"how many {unit.many} of {material} did {person} [use|cut off]")
    remainder = story.new(f"the {unit.many} of {material} left", s.n(2, 60))
    whole = used_material
    if used_material != len(story.graph.quantities) - 2 or s.chance(0.5):
        whole = story.sum_of(f"the {unit.many} of {material} at first", used_material, remainder)
        story.tell(
            remainder, f"now {unit(int(story.value(remainder)))} of {material} are left", at=3, weight=2, plain=False
        )
        story.ask(remainder, f"how many {unit.many} of {material} are left")
        story.use("left after")
    story.tell(whole, f"{person} had {unit(int(story.value(whole)))} of {material}", weight=3)
    story.hint(whole, f"{person} had some {material}", 0)
    story.ask(whole, f"how many {unit.many} of {material} did {person} have [at first|in the beginning]")


def needs(story: Story) -> None:
    """Begin a story about an amount of material that is needed, of which a part is missing."""
    s = story.scene
    unit_one, material, purpose = s.pick(*STOCKS)
    unit, person = s.noun(unit_one), s.person()
    has, missing_amount = s.n(2, 60), s.n(2, 60)
    have = story.new(f"the {unit.many} of {material} there are", has)
    rest = story.new(f"the {unit.many} of {material} still needed", missing_amount)
    need = story.sum_of(f"the {unit.many} of {material} for {purpose}", have, rest)
    of = f"{unit.many} of {material}"
    past = s.pick("has", "bought", "put in")
    has_some = past == "has"
    story.tell(need, f"{person} needs {unit(has + missing_amount)} of {material} for {purpose}", weight=3)
    story.hint(need, f"{person} needs {material} for {purpose}", 0)
    story.tell(have, f"{person} already {past} {unit(has)}{f' of {material}' if s.chance(0.5) else ''}", at=1, weight=3)
    story.tell(
        rest, f"{person} still needs {unit(missing_amount)}{f' of {material}' if s.chance(0.5) else ''}", at=2, weight=2
    )
    story.ask(need, f"how many {of} does {person} need [altogether|in all|for {purpose}]")
    story.ask(rest, f"how many more {of} does {person} need", f"how many {of} does {person} still need")
    story.ask(
        have,
        f"how many {of} does {person} already have" if has_some else f"how many {of} has {person} {past} so far",
    )
    other_materials = [stock for stock_unit, stock, _ in STOCKS if stock_unit == unit_one and stock != material]
    if other_materials and s.chance(0.7):  # another material, which plays no role unless the question compares it
        other_material = s.pick(*other_materials)
        amount = s.n(2, 60)
        second = story.new(f"the {unit.many} of {other_material}", amount)
        story.tell(second, f"{person} also needs {unit(amount)} of {other_material}", at=0.2, weight=2.5)
        if amount != has + missing_amount:
            high, low = (need, second) if amount < has + missing_amount else (second, need)
            a, b = (material, other_material) if high == need else (other_material, material)
            gap = story.less(f"the difference between {a} and {b}", high, low)
            story.ask(gap, f"how many more {unit.many} of {a} than of {b} does {person} need")
        both = story.sum_of(f"the {unit.many} of both", need, second)
        story.ask(
            both, f"how many {unit.many} of {material} and {other_material} does {person} need [altogether|in all]"
        )
        story.use("irrelevant number")
    story.use("still needed")


def temperatures(story: Story) -> None:
    """Begin a story about a level that rises and falls: a temperature, a water level, an elevator."""
    s = story.scene
    subject, unit, rises, falls, times_ = s.pick(
        (
            "the temperature",
            "degrees",
            ("rose", "rise"),
            ("fell", "fall"),
            ("in the morning", "at noon", "in the evening"),
        ),
        ("the water level", "inches", ("rose", "rise"), ("sank", "sink"), ("on Monday", "on Tuesday", "on Wednesday")),
        ("the elevator", "floors", ("went up", "go up"), ("went down", "go down"), ("at first", "later", "in the end")),
        ("the balloon", "meters", ("rose", "rise"), ("sank", "sink"), ("at first", "later", "in the end")),
    )
    where = {
        "degrees": "was {n} degrees",
        "inches": "was {n} inches",
        "floors": "was on floor {n}",
        "meters": "was {n} meters up",
    }[unit]
    value = s.n(10, 40)
    now = story.new(f"{subject} {times_[0]}", value)
    story.tell(now, f"{times_[0]}, {subject} {where.format(n=value)}", at=0, weight=3, plain=False)
    head = "what" if unit in ("degrees", "inches") else "on which floor" if unit == "floors" else "how high"
    story.ask(now, f"{head} was {subject} {times_[0]}")
    for index in range(1, s.pick(2, 2, 3)):
        size = s.n(2, 15)
        up = s.chance(0.5) or int(story.value(now)) <= size + 1
        change = story.new(f"the change of {subject}", size)
        verb, base = rises if up else falls
        story.tell(
            change,
            f"[then|after that,] {subject} {verb} {'by ' if unit != 'floors' else ''}{size} {unit}",
            index,
            3,
            plain=False,
        )
        if index == 1:
            story.ask(change, f"how many {unit} did {subject} {base}")
        after = (
            story.sum_of(f"{subject} {times_[index]}", now, change)
            if up
            else story.less(f"{subject} {times_[index]}", now, change)
        )
        story.tell(
            after, f"{times_[index]}, {subject} {where.format(n=int(story.value(after)))}", index + 0.5, 2, plain=False
        )
        story.ask(after, f"{head} was {subject} {times_[index]}")
        now = after
    story.use("rises and falls")
