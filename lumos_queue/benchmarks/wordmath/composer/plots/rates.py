"""Rates: pages a day, kilometers an hour; with distances, times, and the amount that is still to do."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.scene import Noun, Person

#: (present, base, past, things, units of time)
HABITS = (
    ("reads", "read", "read", ("page", "story", "article"), ("day", "hour", "week")),
    ("bakes", "bake", "baked", ("cake", "loaf of bread", "pie", "tray of cookies"), ("day", "hour", "week")),
    ("paints", "paint", "painted", ("chair", "wall", "door", "sign"), ("day", "hour", "week")),
    ("runs", "run", "ran", ("lap", "mile", "kilometer"), ("day", "week", "morning")),
    ("writes", "write", "wrote", ("letter", "page", "line"), ("day", "hour", "week")),
    ("makes", "make", "made", ("bracelet", "basket", "lantern", "phone call"), ("day", "hour", "week")),
    ("plants", "plant", "planted", ("tree", "bush", "seed"), ("day", "hour", "minute")),
    ("washes", "wash", "washed", ("car", "window", "plate"), ("day", "hour", "minute")),
    ("packs", "pack", "packed", ("box", "parcel", "crate"), ("hour", "day", "minute")),
    ("drinks", "drink", "drank", ("glass of water", "cup of tea"), ("day", "week")),
    ("solves", "solve", "solved", ("puzzle", "problem", "riddle"), ("day", "hour", "week")),
    ("picks", "pick", "picked", ("basket of cherries", "pumpkin", "bucket of berries", "flower"), ("hour", "day")),
    ("delivers", "deliver", "delivered", ("newspaper", "parcel", "pizza"), ("day", "hour", "evening")),
    ("learns", "learn", "learned", ("word", "song", "rule"), ("day", "week", "month")),
    ("repairs", "repair", "repaired", ("bicycle", "shoe", "clock"), ("day", "week", "month")),
    ("folds", "fold", "folded", ("towel", "napkin", "paper plane"), ("hour", "minute", "day")),
    ("feeds", "feed", "fed", ("goat", "hen", "rabbit"), ("hour", "day")),
    ("types", "type", "typed", ("word", "line", "page"), ("minute", "hour")),
)
#: (vehicle, smallest speed, largest speed), by the hour
VEHICLES = (
    ("train", 40, 150),
    ("bus", 30, 90),
    ("car", 30, 110),
    ("ship", 15, 60),
    ("truck", 25, 90),
    ("cyclist", 8, 25),
    ("boat", 5, 40),
    ("plane", 200, 900),
    ("horse", 5, 30),
    ("tractor", 8, 35),
    ("hiker", 2, 5),
    ("balloon", 5, 30),
)


def habits(story: Story) -> None:
    """Begin a story about persons who do the same amount each day, and about the amount that is still to do."""
    s = story.scene
    does, base, _, things, units = s.pick(*HABITS)
    noun, time = s.noun(s.pick(*things)), s.noun(s.pick(*units))
    totals = []
    for person in s.people(s.pick(1, 1, 2)):
        speed, count = s.n(2, 30), s.n(2, 20)
        rate = story.new(f"the number of {noun.many} {person} {does} each {time.singular}", speed)
        times = story.new(f"the number of {time.many} of {person}", count)
        total = story.product_of(f"the number of {noun.many} {person} {does} in all", rate, times)
        amount = int(story.value(total))
        article = "an" if time.singular in ("hour", "evening") else "a"
        regular = f"{person} {does} {noun(speed)} [{article}|each|every] {time.singular}"
        story.tell((rate, times), f"{regular} for {time(count)}", weight=2, plain=False)
        story.tell(rate, regular, weight=3)
        story.tell((total, times), f"{person} {does} {noun(amount)} in {time(count)}", at=0.5, weight=1.5)
        story.tell(total, f"{person} {does} {noun(amount)} [in all|altogether]", at=0.5)
        story.tell(times, f"{person} does this for {time(count)}", at=0.7, weight=1.5)
        story.ask(rate, f"how many {noun.many} does {person} {base} [in one|each|per] {time.singular}")
        story.ask(
            times,
            f"how many {time.many} does {person} need",
            f"for how many {time.many} does {person} {base} {noun.many}",
        )
        story.ask(total, f"how many {noun.many} does {person} {base} [altogether|in all|in total]")
        totals.append((total, person, rate))
    story.use("rate per")
    if len(totals) == 2:
        (first_total, p, r), (second_total, q, t) = totals
        both = story.sum_of("the sum of both numbers", first_total, second_total)
        story.ask(both, f"how many {noun.many} do {p} and {q} {base} [altogether|in all|in total]")
        for first, second, span in ((first_total, second_total, " in all"), (r, t, f" each {time.singular}")):
            if story.value(first) != story.value(second):
                swap = story.value(first) < story.value(second)
                (high, a), (low, b) = ((second, q), (first, p)) if swap else ((first, p), (second, q))
                difference = story.less("the difference", high, low)
                story.ask(difference, f"how many more {noun.many} does {a} {base} than {b}{span}")
                story.ask(difference, f"how many fewer {noun.many} does {b} {base} than {a}{span}")
                gap = int(story.value(difference))
                if gap > 1 and span != " in all":
                    story.tell(difference, f"{a} {does} {gap} more {noun.many} than {b}{span}", at=0.2, weight=1.5)
        story.use("difference")
    else:
        _goal(story, noun, base, *totals[0][:2])


def _goal(story: Story, noun: Noun, base: str, total: int, person: Person) -> None:
    s = story.scene
    remainder = story.new(f"the number of {noun.many} still to do", s.n(2, 90))
    goal = story.sum_of(f"the number of {noun.many} {person} wants", total, remainder)
    wants = f"{person} [wants|plans|has] to {base} {noun(int(story.value(goal)))}"
    story.tell(goal, wants, at=-1, weight=1.2)
    story.ask(remainder, f"how many more {noun.many} does {person} have to {base} then")
    story.ask(goal, f"how many {noun.many} does {person} want to {base}")
    story.tell(
        remainder, f"{person} still has {noun(int(story.value(remainder)))} to {base}", at=2, weight=0.7, plain=False
    )
    story.use("still needed")


def journeys(story: Story) -> None:
    """Begin a story about the speed, time and distance of one or two vehicles, and the rest of the way."""
    s = story.scene
    unit = s.pick("kilometer", "mile")
    distances = []
    for vehicle, slowest, fastest in s.rng.sample(VEHICLES, s.pick(1, 1, 2)):
        fast, long = s.n(slowest, fastest), s.n(2, 12)
        speed = story.new(f"the speed of the {vehicle}", fast)
        hours = story.new(f"the hours of the {vehicle}", long)
        way = story.product_of(f"the distance of the {vehicle}", speed, hours)
        far = int(story.value(way))
        goes = s.pick("travels", "goes", "moves") if vehicle not in ("ship", "boat", "plane") else "travels"
        base = goes.removesuffix("s") if goes != "goes" else "go"
        story.tell(speed, f"a {vehicle} {goes} {fast} {unit}s [an|each|every|per] hour", weight=2)
        story.tell((speed, hours), f"a {vehicle} {goes} {fast} {unit}s an hour for {long} hours", weight=2, plain=False)
        story.tell(hours, f"the {vehicle} [needs {long} hours|is on the way for {long} hours]", at=0.5, weight=1.5)
        story.tell((way, hours), f"a {vehicle} {goes} {far} {unit}s in {long} hours", weight=2)
        story.tell(way, f"the {vehicle} {goes} {far} {unit}s [altogether|in all]", at=0.7)
        story.ask(
            way, f"how far does the {vehicle} {base}", f"how many {unit}s does the {vehicle} {base} [altogether|in all]"
        )
        story.ask(
            hours, f"how many hours does the {vehicle} [need|take]", f"how long is the {vehicle} on the way in hours"
        )
        story.ask(
            speed, f"how many {unit}s does the {vehicle} {base} [in one|each|per] hour", f"how fast is the {vehicle}"
        )
        distances.append((way, vehicle, base))
    story.use("distance and time")
    if len(distances) == 2:
        (first_distance, a, base), (second_distance, b, _) = distances
        if story.value(first_distance) != story.value(second_distance):
            high, low = sorted(distances, key=lambda item: -story.value(item[0]))
            gap = story.less("the difference of the distances", high[0], low[0])
            story.ask(
                gap,
                f"how many more {unit}s does the {high[1]} {high[2]} than the {low[1]}",
                f"how much farther does the {high[1]} {high[2]} than the {low[1]}",
            )
        both = story.sum_of("both distances", first_distance, second_distance)
        story.ask(both, f"how many {unit}s do the {a} and the {b} cover [together|altogether]")
    elif s.chance(0.6):
        way, vehicle, _ = distances[0]
        remainder = story.new("the rest of the way", s.n(3, 200))
        whole = story.sum_of("the whole way", way, remainder)
        story.tell(
            whole, f"the way to the next [city|town|station|port] is {int(story.value(whole))} {unit}s long", -1, 1.5
        )
        story.ask(
            remainder, f"how many {unit}s are left after that", f"how many {unit}s does the {vehicle} still have to go"
        )
        story.tell(remainder, f"then {int(story.value(remainder))} {unit}s are left", at=2, plain=False)
        story.ask(whole, "how long is the whole way")
        story.use("left after")
