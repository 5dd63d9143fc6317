"""A whole and its parts: boys and girls, colours, fractions, percentages, the rest."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.composer.story import Story

#: (the whole, its location, pairs of parts as they follow `of the students, 12 …`)
WHOLES = (
    (
        "student",
        "in the class",
        "are girls/are boys; wear glasses/do not wear glasses; "
        "walk to school/come by bus; play chess/do not play chess",
    ),
    ("animal", "on the farm", "are cows/are goats; are young/are grown up; sleep outside/sleep in a barn"),
    ("flower", "in the garden", "are roses/are tulips; are white/are red; bloom in spring/bloom in summer"),
    ("car", "in the garage", "are black/are white; are new/are old; need new tires/need no repair"),
    ("book", "on the shelf", "are novels/are comics; are about animals/are about history; are new/are used"),
    ("egg", "in the basket", "are brown/are white; are cracked/are whole; are small/are large"),
    (
        "person",
        "in the bus",
        "are children/are adults; are standing/are sitting; get off at the museum/stay on the bus",
    ),
    ("fish", "in the pond", "are golden/are black; are big/are small"),
    ("balloon", "in the hall", "are red/are blue; have burst/are still whole; are round/are long"),
    ("guest", "at the wedding", "drink tea/drink coffee; are dancing/are sitting; are family/are friends"),
    ("tree", "in the orchard", "are apple trees/are pear trees; are old/are young"),
    ("player", "in the club", "are beginners/are experts; are left-handed/are right-handed"),
    ("button", "in the box", "are made of wood/are made of metal; are square/are round"),
    ("ticket", "for the play", "are for adults/are for children; are sold/are not sold"),
    ("room", "in the hotel", "are empty/are taken; have a balcony/have no balcony; are painted/are not painted"),
    ("worker", "in the factory", "work at night/work in the daytime; come by train/come by bicycle"),
)
FRACTIONS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}


def parts(story: Story) -> None:
    """Begin a story about a whole that is divided in one or two ways, by numbers, a fraction or a percentage."""
    s = story.scene
    member, where, pairs_text = s.pick(*WHOLES)
    pairs = [pair.split("/") for pair in pairs_text.split("; ")]
    noun = s.noun(member)
    way = s.pick("numbers", "numbers", "numbers", "fraction", "percent")
    k, rate = s.pick(2, 2, 3, 4, 5), s.pick(10, 20, 25, 30, 40, 50, 60, 75, 80)
    size = s.n(2, 60)
    total = size + s.n(2, 60) if way == "numbers" else size * k if way == "fraction" else s.n(2, 20) * 20
    s.require(total > 4)
    whole = story.new(f"the number of {noun.many} {where}", total)
    story.tell(whole, f"there are {noun(total)} {where}", at=0, weight=3)
    story.hint(whole, f"there are some {noun.many} {where}", 0)
    story.ask(whole, f"how many {noun.many} are {where} [altogether|in all]", f"how many {noun.many} are there {where}")
    divisions = s.rng.sample(pairs, min(len(pairs), s.pick(1, 1, 2)))
    for index, pair in enumerate(divisions):
        one_side, other_side = s.rng.sample(pair, 2)
        if index == 0 and way != "numbers":
            part = _share(story, whole, noun.many, one_side, k if way == "fraction" else 0, rate)
        else:
            part = story.new(f"the number of {noun.many} that {one_side}", size if index == 0 else s.n(2, total - 2))
        rest = story.less(f"the number of {noun.many} that {other_side}", whole, part)
        amounts = int(story.value(part)), int(story.value(rest))
        s.require(min(amounts) > 1)
        if index or way == "numbers":
            story.tell(part, f"of the {noun.many}, {amounts[0]} {one_side}", at=1 + index, weight=2.5, plain=False)
        remainder = s.pick("the others", "the rest")
        story.tell(rest, f"of the {noun.many}, {amounts[1]} {other_side}", at=1 + index, weight=1, plain=False)
        story.hint(rest, f"{remainder} {other_side}", 1 + index + 0.5, with_one_of=(part,))
        story.ask(part, f"how many of the {noun.many} {where} {one_side}", f"how many {noun.many} {one_side}")
        story.ask(rest, f"how many of the {noun.many} {where} {other_side}", f"how many {noun.many} {other_side}")
        if amounts[0] != amounts[1]:
            (high, a), (low, b) = ((part, one_side), (rest, other_side))[:: 1 if amounts[0] > amounts[1] else -1]
            gap = story.less(f"how many more {a} than {b}", high, low)
            story.ask(gap, f"how many more {noun.many} {a} than {b}")
            story.use("difference")
    story.use("part of")


def _share(story: Story, whole: int, many: str, side: str, k: int, rate: int) -> int:
    """Add a part that is stated as a fraction (`k` is not 0) or a percentage of the whole, and return its index."""
    total = int(story.value(whole))
    if k:
        divisor = story.new(f"the divisor for {FRACTIONS[k]}", k)
        part = story.new(f"the number of {many} that {side}", total // k)
        story.graph.product(whole, part, divisor)
        story.tell(divisor, f"{FRACTIONS[k]} of the {many} {side}", at=1, weight=5, plain=False)
        sentence = f"exactly {total // k} {many}, {FRACTIONS[k]} of them all, {side}"
        story.tell((divisor, part), sentence, at=1, weight=2, plain=False)
        story.use("fraction of")
        return part
    story.scene.require(total * rate % 100 == 0)
    percent = story.new(f"the percentage that {side}", rate)
    part = story.new(f"the number of {many} that {side}", total * rate // 100)
    hundredfold = story.new(f"{rate} times the number of {many}", total * rate)
    story.graph.product(hundredfold, whole, percent)
    story.graph.product(hundredfold, part, story.constant(100))
    story.tell(percent, f"of all the {many}, {rate}[ percent|%] {side}", at=1, weight=5, plain=False)
    sentence = f"exactly {total * rate // 100} {many}, {rate}% of them all, {side}"
    story.tell((percent, part), sentence, at=1, weight=2, plain=False)
    story.ask(percent, f"what percent of the {many} {side}")
    story.use("percent of")
    return part
