"""Amounts in a grid that differ in who, what, when or where. They are compared, added, and made of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from lumos_queue.benchmarks.wordmath.composer import vocabulary
from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.families.compare import times
from lumos_queue.benchmarks.wordmath.program import join_words
from lumos_queue.benchmarks.wordmath.scene import Noun, Person

IN_ALL = "[altogether|in all|in total]"
AXES = ("who", "what", "when", "where")


@dataclass(frozen=True, slots=True)
class Deed:
    """A verb in its forms."""

    form: str
    base: str
    aux: str
    many: str  #: the form after two persons


HAVE = Deed("has", "have", "do", "have")
THERE = Deed("there are", "", "", "")


@dataclass(frozen=True, slots=True)
class Cell:
    """An amount of the grid. Two neighbouring cells differ in exactly one of who, what, when and where."""

    deed: Deed
    who: Person | str
    what: Noun
    when: str = ""
    where: str = ""
    quantity: int = -1

    def state(self, amount: str) -> str:
        """Return a clause with this amount: `Ann bought 3 pens on Monday`."""
        if self.deed is THERE:
            return f"there {'is' if amount.startswith('1 ') else 'are'} {amount} {self.where}"
        return f"{self.who} {self.deed.form} {amount}{self.tail}"

    @property
    def tail(self) -> str:
        return "".join(f" {part}" for part in (self.where, self.when) if part)

    def question(self, head: str, tail: str | None = None) -> str:
        """Return a question for an amount: `how many pens did Ann buy on Monday`."""
        if self.deed is THERE:
            return f"{head} [are|are there] {self.where}"
        aux = "does" if self.deed.aux == "do" else self.deed.aux
        return f"{head} {aux} {self.who} {self.deed.base}{self.tail if tail is None else tail}"

    @property
    def name(self) -> str:
        return f"the number of {self.what.many}{f' of {self.who}' if self.who else ''}{self.tail}"


def doers(story: Story) -> None:
    """Begin a story about persons, bakeries or teams who have or did something."""
    s = story.scene
    axes = s.pick(("who",), ("what",), ("who", "what"), ("who", "when"), ("what", "when"), ("when",), ("who", "what"))
    nouns_needed = 2 if "what" in axes else 1
    if s.chance(0.18):
        names, deeds = s.pick(*vocabulary.DOERS)
        form, base, things = s.pick(*deeds)
        deed, who = Deed(form, base, "did", form), s.rng.sample(names, 2)
    else:
        who = s.people(2 if len(axes) > 1 or s.chance(0.6) else 3)
        if "when" not in axes and s.chance(0.45):
            kind = s.pick(*vocabulary.THINGS)
            deed, things = HAVE, tuple(vocabulary.THINGS[kind])
        else:
            form, base, things = s.pick(*vocabulary.DEEDS)
            deed = Deed(form, base, "did", form)
    if len(things) > 40:  # the verb fits all things: take those of one kind
        things = tuple(vocabulary.THINGS[s.pick(*vocabulary.THINGS)])
    nouns = _nouns(story, things, nouns_needed)
    times_ = _times(story)[: s.pick(2, 2, 3) if axes == ("when",) else 2] if "when" in axes else [""]
    if deed is not HAVE and times_ == [""] and s.chance(0.25):
        times_ = [s.pick("yesterday", "last week", "on Saturday", "this morning", "last month")]
    people = who if "who" in axes else who[:1]
    cells = [Cell(deed, person, noun, when) for person in people for noun in nouns for when in times_]
    _fill(story, cells)


def places(story: Story) -> None:
    """Begin a story about the numbers of things in several places."""
    s = story.scene
    spots, things = s.pick(*vocabulary.PLACES)
    axes = s.pick(("where",), ("where", "what"), ("where",))
    nouns = _nouns(story, things, len(axes))
    selection = s.rng.sample(spots, min(len(spots), 2 if len(axes) > 1 else s.pick(2, 3)))
    if s.chance(0.3):
        person = s.person()
        form, base = s.pick(("put", "put"), ("counted", "count"), ("found", "find"), ("saw", "see"), ("left", "leave"))
        deed, who = Deed(form, base, "did", form), person
    else:
        deed, who = THERE, ""
    _fill(story, [Cell(deed, who, noun, where=spot) for spot in selection for noun in nouns])


def _nouns(story: Story, things: tuple[str, ...], count: int) -> list[Noun]:
    s = story.scene
    if count == 2 and (len(things) < 3 or s.chance(0.3)):
        thing = s.pick(*things)
        if thing in vocabulary.COLORED:
            return [s.noun(f"{color} {thing}") for color in s.rng.sample(vocabulary.COLORS, 2)]
    s.require(len(things) >= count)
    return [s.noun(thing) for thing in s.rng.sample(things, count)]


def _times(story: Story) -> list[str]:
    s = story.scene
    if s.chance(0.45):
        return [f"on {day}" for day in s.days(3)]
    if s.chance(0.2):
        return [f"in {month}" for month in s.months(3)]
    return list(s.pick(*vocabulary.TIMES_OF_DEEDS))


# --- amounts and their relations


def _fill(story: Story, empty: list[Cell]) -> None:
    s = story.scene
    top = s.pick(12, 20, 40, 90, 90, 300)
    values = [s.n(2, top) for _ in empty]
    multiple = s.rng.randrange(2, 7) if s.chance(0.35) and len(values) > 1 else 0
    if multiple:
        values[1] = values[0] * multiple
    cells = []
    for cell, value in zip(empty, values, strict=True):
        cells.append(replace(cell, quantity=_amount(story, cell, value)))
    for first, second in combinations(cells, 2):
        if (axis := _axis(first, second)) is not None:
            _compare(story, axis, first, second)
    for axis in AXES:
        for line in _lines(axis, cells):
            _add_up(story, axis, line, cells)
    if len(cells) == 1:
        s.require(False)
    for cell in cells:
        if cell.deed is HAVE and isinstance(cell.who, Person):
            story.hold(cell.quantity, cell.who, cell.what, 1)


def _amount(story: Story, cell: Cell, value: int) -> int:
    """Add the quantity of a cell, stated as a number or as groups of equal size, and return its index."""
    s = story.scene
    noun = cell.what
    if cell.deed.form in ("has", "bought", "sold", "packed", "filled", "made") and s.chance(0.3) and not cell.when:
        groups, group_size = s.n(2, 20), s.n(2, 20)
        container = s.container()
        count, size = (
            story.new(f"the number of {container.many}", groups),
            story.new(f"the number of {noun.many} in each {container.singular}", group_size),
        )
        quantity = story.product_of(cell.name, count, size)
        story.use("groups of")
        groups_text = f"{container(groups)} of {noun.many}"
        story.tell(
            (count, size),
            f"[{cell.state(f'{container(groups)} with {noun(group_size)} in each')}|"
            f"{cell.state(groups_text)} with {group_size} {noun.many} in each {container.singular}]",
            weight=4,
            plain=False,
        )
    else:
        quantity = story.new(cell.name, value)
        story.tell(quantity, cell.state(noun(value)), weight=3)
    story.ask(quantity, cell.question(f"how many {noun.many}"))
    return quantity


def _axis(first: Cell, second: Cell) -> str | None:
    differ = [axis for axis in AXES if getattr(first, axis) != getattr(second, axis)]
    return differ[0] if len(differ) == 1 else None


def _lines(axis: str, cells: list[Cell]) -> list[list[Cell]]:
    """Return the rows of cells that differ only in `axis`: who, what, when or where."""
    lines: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        lines.setdefault(tuple(str(getattr(cell, other_axis)) for other_axis in AXES if other_axis != axis), []).append(
            cell
        )
    return [line for line in lines.values() if len(line) > 1]


def _compare(story: Story, axis: str, first: Cell, second: Cell) -> None:
    value = story.value
    if value(first.quantity) == value(second.quantity):
        return
    high, low = (first, second) if value(first.quantity) > value(second.quantity) else (second, first)
    difference = story.less(f"how much {high.name} exceeds {low.name}", high.quantity, low.quantity)
    gap = value(difference)
    if isinstance(gap, int) and gap > 1:
        up, down = _state_gap(axis, high, low, gap)
        story.tell(difference, up, at=0.5, weight=1.6)
        story.tell(difference, down, at=0.5, weight=1.2)
        story.ask(difference, _ask_gap(axis, high, low, "more"), _ask_gap(axis, high, low, "more"))
        story.ask(difference, _ask_gap(axis, low, high, "fewer"))
        story.use("more than")
        story.use("fewer than")
    factor, rest = divmod(value(high.quantity), value(low.quantity))
    if rest == 0 and 1 < factor < 13:
        ratio = story.new(f"how many times {high.name} is {low.name}", int(factor))
        story.graph.product(high.quantity, low.quantity, ratio)
        as_many = f"{times(story.scene, int(factor))} as many"
        story.tell(ratio, _equal(axis, high, low, as_many), at=0.5, weight=2.5)
        story.ask(ratio, _ask_ratio(axis, high, low))
        story.use("times as many")


def _state_gap(axis: str, high: Cell, low: Cell, gap: object) -> tuple[str, str]:
    many = high.what.many
    match axis:
        case "who":
            return (
                high.state(f"{gap} more {many} than {low.who}"),
                low.state(f"{gap} fewer {many} than {high.who}"),
            )
        case "what":
            return (
                high.state(f"{gap} more {high.what.many} than {low.what.many}"),
                low.state(f"{gap} fewer {low.what.many} than {high.what.many}"),
            )
        case "when":
            return (
                f"{high.state(f'{gap} more {many}')} than {low.when}",
                f"{low.state(f'{gap} fewer {many}')} than {high.when}",
            )
        case _:
            return (
                f"{high.state(f'{gap} more {many}')} than {low.where}",
                f"{low.state(f'{gap} fewer {many}')} than {high.where}",
            )


def _equal(axis: str, high: Cell, low: Cell, as_many: str) -> str:
    match axis:
        case "who":
            return high.state(f"{as_many} {high.what.many} as {low.who}")
        case "what":
            return high.state(f"{as_many} {high.what.many} as {low.what.many}")
        case "when":
            return f"{high.state(f'{as_many} {high.what.many}')} as {low.when}"
        case _:
            return f"{high.state(f'{as_many} {high.what.many}')} as {low.where}"


def _ask_gap(axis: str, subject: Cell, comparison: Cell, comparative: str) -> str:
    match axis:
        case "who":
            tail = "" if subject.deed is HAVE or not subject.tail else None
            return f"{subject.question(f'how many {comparative} {subject.what.many}', tail)} than {comparison.who}"
        case "what":
            return subject.question(f"how many {comparative} {subject.what.many} than {comparison.what.many}")
        case "when":
            return f"{subject.question(f'how many {comparative} {subject.what.many}')} than {comparison.when}"
        case _:
            return f"{subject.question(f'how many {comparative} {subject.what.many}')} than {comparison.where}"


def _ask_ratio(axis: str, high: Cell, low: Cell) -> str:
    return _ask_gap(axis, high, low, "times as").replace("times as ", "times as many ", 1).replace(" than ", " as ", 1)


# --- totals


def _add_up(story: Story, axis: str, line: list[Cell], cells: list[Cell]) -> None:
    first = line[0]
    total = story.sum_of(f"{first.name} and the others together", *(cell.quantity for cell in line))
    count, many = story.value(total), first.what.many
    story.use("altogether")
    match axis:
        case "who":
            names = join_words([str(cell.who) for cell in line])
            sentence = f"{names} {first.deed.many} {count} {many} {IN_ALL}{first.tail}"
            aux = first.deed.aux
            story.ask(total, f"how many {many} {aux} {names} {first.deed.base} {IN_ALL}{first.tail}")
            if len({str(cell.who) for cell in cells}) == len(line):
                story.ask(
                    total, f"how many {many} {aux} they {first.deed.base}{first.tail} [altogether|in all|together]"
                )
        case "what":
            joint = _joint(line)
            sentence = first.state(f"{count} {joint} {IN_ALL}")
            story.ask(total, f"{first.question(f'how many {joint}')} {IN_ALL}")
        case "when":
            whens = join_words([cell.when for cell in line])
            sentence = f"{first.who} {first.deed.form} {count} {many} {whens} [together|combined]"
            story.ask(total, f"{first.question(f'how many {many}', '')} {IN_ALL}")
            story.ask(total, f"what is the total number of {many} that {first.who} {first.deed.form}")
        case _:
            wheres = join_words([cell.where for cell in line])
            sentence = first.state(f"{count} {many}").replace(first.where, f"{wheres} [together|combined]")
            story.ask(total, f"{first.question(f'how many {many}')} {IN_ALL}".replace(first.where, wheres))
            if len(line) == len(cells):
                story.ask(total, f"what is the total number of {many} {wheres}")
    story.tell(total, sentence, at=0.5, weight=1)


def _joint(line: list[Cell]) -> str:
    """Return the noun that all cells share, such as pens for red and blue pens; else both nouns: `pens and books`."""
    names = [cell.what.many for cell in line]
    heads = {name.partition(" ")[2] for name in names}
    if len(heads) == 1 and "" not in heads and all(name.startswith(vocabulary.COLORS) for name in names):
        return heads.pop()
    return join_words(names)
