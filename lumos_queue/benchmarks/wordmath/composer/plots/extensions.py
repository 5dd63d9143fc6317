"""Extensions of a story: a person packs, sells, shares, needs or compares things; and irrelevant numbers."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath.composer.story import Holding, Story
from lumos_queue.benchmarks.wordmath.families.compare import times

EXTENDED = 0.4  #: probability that a story is extended
DISTRACTED = 0.4  #: probability of a clause with an irrelevant number

#: (sentence, smallest number, largest number). `{p}` is a person of the story, `{other}` another thing.
ABOUT_PERSONS = (
    ("{p} is {n} years old", 6, 15),
    ("{p} has {n} cousins", 2, 12),
    ("{p} also has {n} {other}", 2, 60),
    ("{p} lives on floor {n} of a tall house", 2, 20),
    ("{p} has {n} {other} at home", 2, 60),
    ("{p}'s best friend has {n} {other}", 2, 60),
    ("{p} is in a class of {n} children", 15, 30),
    ("{p} walked {n} minutes to get there", 3, 40),
    ("{p} also saw {n} dogs that day", 2, 9),
    ("{p}'s grandmother is {n} years old", 55, 95),
    ("{p} has been here for {n} days", 2, 20),
    ("{p} has a brother who collected {n} {other}", 2, 60),
    ("{p} got up at {n} o'clock that day", 5, 9),
    ("{p} also keeps {n} {other} in a box", 2, 60),
    ("{p} paid {n} dollars for a ticket", 2, 9),
    ("last year, {p} had {n} {other}", 2, 60),
    ("{p} can hold {n} {other} at once", 2, 9),
)
ABOUT_THE_WORLD = (
    ("there are {n} houses nearby", 5, 60),
    ("the next town is {n} miles away", 2, 40),
    ("about {n} people live in the street", 20, 200),
    ("it is {n} degrees outside", 5, 30),
    ("there is a clock with {n} bells in the tower", 2, 9),
    ("there are also {n} {other} there", 2, 60),
    ("the gate is open for {n} hours a day", 4, 12),
    ("there are {n} {other} on a table nearby", 2, 60),
)


def extend_story(story: Story) -> None:
    """Add at random a relation of an amount that a person has in the end, and a number that plays no role."""
    s = story.scene
    if story.holdings and s.chance(EXTENDED):
        holding = s.pick(*story.holdings)
        s.pick(_sell, _need, _need, _other_person, _other_person, _pack, _share)(story, holding)
    if s.chance(DISTRACTED):
        _distract(story)


def _sell(story: Story, holding: Holding) -> None:
    s, many = story.scene, holding.noun.many
    unit_price = story.new(f"the price of each {holding.noun.singular}", price := s.n(2, 15))
    money = story.product_of(f"the money for the {many}", holding.quantity, unit_price)
    story.tell(
        unit_price, f"{holding.who} sells all the {many} for {s.usd(price)} each", holding.moment + 1, 3, plain=False
    )
    story.ask(money, f"how much money does {holding.who} get for the {many}", f"how much does {holding.who} earn")
    story.use("cost of n at a price")


def _need(story: Story, holding: Holding) -> None:
    s, noun = story.scene, holding.noun
    missing_amount = story.new(f"the number of {noun.many} still needed", s.n(2, 60))
    need = story.sum_of(f"the number of {noun.many} needed", holding.quantity, missing_amount)
    wants = s.pick("needs", "wants to have", "would like to have")
    story.tell(
        need,
        f"{holding.who} {wants} {noun(int(story.value(need)))} [in all|altogether]",
        holding.moment + 1,
        3,
        plain=False,
    )
    story.tell(
        missing_amount,
        f"{holding.who} needs {noun(int(story.value(missing_amount)), 'more')}",
        holding.moment + 1,
        1,
        plain=False,
    )
    story.ask(missing_amount, f"how many more {noun.many} does {holding.who} need")
    story.ask(
        need, f"how many {noun.many} does {holding.who} {'need' if wants == 'needs' else 'want'} [in all|altogether]"
    )
    story.use("still needed")


def _other_person(story: Story, holding: Holding) -> None:
    s, noun, value = story.scene, holding.noun, int(story.value(holding.quantity))
    q = s.person()
    name, now = f"the number of {noun.many} {q} has", "now " if holding.moment > 5 else ""
    time = holding.moment + 1
    if s.chance(0.3):
        factor = s.pick(2, 3, 4, 5, 6)
        ratio = story.new(f"how many times the {noun.many} of {holding.who} {q} has", factor)
        amount = story.product_of(name, holding.quantity, ratio)
        story.tell(ratio, f"{now}{q} has {times(s, factor)} as many {noun.many} as {holding.who}", time, 3, plain=False)
        story.use("times as many")
    else:
        gap = story.new("the difference between them", size := s.n(2, 40))
        if s.chance(0.5) or value <= size:
            amount = story.sum_of(name, holding.quantity, gap)
            word = "more"
        else:
            amount = story.less(name, holding.quantity, gap)
            word = "fewer"
        story.tell(gap, f"{now}{q} has {size} {word} {noun.many} than {holding.who}", time, 3, plain=False)
        story.ask(gap, f"how many {word} {noun.many} does {q} have than {holding.who}{' now' if now else ''}")
        story.use(f"{word} than")
    story.ask(amount, f"how many {noun.many} does {q} have{' now' if now else ''}")
    story.tell(amount, f"{q} has {noun(int(story.value(amount)))}", time - 0.5, 1.5)
    both = story.sum_of(f"the {noun.many} of both", holding.quantity, amount)
    ends = "now" if now else "altogether"
    story.ask(
        both,
        f"how many {noun.many} do {holding.who} and {q} have together{' now' if now else ''}",
        f"how many {noun.many} do the two have [in all|{ends}]".replace("|now", ""),
    )
    story.use("altogether")


def _divisors(value: int) -> list[int]:
    return [k for k in range(2, min(value // 2, 40) + 1) if value % k == 0]


def _pack(story: Story, holding: Holding) -> None:
    s, noun, value = story.scene, holding.noun, int(story.value(holding.quantity))
    divisors = _divisors(value)
    if not divisors:
        return
    group_size, container = s.pick(*divisors), s.container()
    size = story.new(f"the number of {noun.many} in each {container.singular}", group_size)
    count = story.new(f"the number of {container.many}", value // group_size)
    story.graph.product(holding.quantity, size, count)
    into = f"{holding.who} puts all the {noun.many} into"
    story.tell(size, f"{into} {container.many} of {group_size}", holding.moment + 1, 3, plain=False)
    story.tell(
        count,
        f"{into} {container(value // group_size)}, with the same number in each",
        holding.moment + 1,
        2,
        plain=False,
    )
    story.ask(count, f"how many {container.many} does {holding.who} [need|fill]")
    story.ask(size, f"how many {noun.many} are in each {container.singular}")
    story.use("groups of")


def _share(story: Story, holding: Holding) -> None:
    s, noun, value = story.scene, holding.noun, int(story.value(holding.quantity))
    divisors = _divisors(value)
    if not divisors:
        return
    groups, group = s.pick(*divisors), s.group()
    count = story.new(f"the number of {group.many}", groups)
    size = story.new(f"the number of {noun.many} for each {group.singular}", value // groups)
    story.graph.product(holding.quantity, size, count)
    sharing_text = f"{holding.who} shares all the {noun.many} equally among"
    story.tell(count, f"{sharing_text} {group(groups)}", holding.moment + 1, 3, plain=False)
    story.hint(count, f"{sharing_text} some {group.many}", holding.moment + 1, with_one_of=(size,))
    story.tell(size, f"each {group.singular} gets {noun(value // groups)}", holding.moment + 1.5, 1.5, plain=False)
    story.ask(size, f"how many {noun.many} does each {group.singular} get")
    story.ask(count, f"how many {group.many} are there")
    story.use("share equally")


def _distract(story: Story) -> None:
    s = story.scene
    person = s.pick(*s.cast) if s.cast else None
    text, low, high = s.pick(*(ABOUT_PERSONS if person and s.chance(0.8) else ABOUT_THE_WORLD))
    number = s.n(low, high)
    other_things = s.thing("toy", "school", "craft").many
    quantity = story.new("a number that plays no role", number)
    sentence = text.format(p=person, n=number, other=other_things)
    story.tell(quantity, sentence, s.pick(0.1, 1.1, 2.1), 1.5, plain=False)
    story.use("irrelevant sentence")
