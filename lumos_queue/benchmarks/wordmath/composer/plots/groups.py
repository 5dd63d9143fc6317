"""Equal groups: packing, sharing and rows, with remainders; and groups of two kinds."""

from __future__ import annotations

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.composer import vocabulary
from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.scene import Noun, Person


def pack_containers(story: Story) -> None:
    """Begin a story about things in containers, the same number in each. Some may be left over."""
    s = story.scene
    person, noun, container = s.person(), s.thing(*words.THINGS), s.container()
    groups, group_size = s.n(2, 30), s.n(2, 30)
    many = noun.many
    has, put = s.pick(
        ("has", "puts"),
        ("has", "packs"),
        ("has", "sorts"),
        ("bought", "packed"),
        ("made", "put"),
        ("collected", "sorted"),
        ("had", "put"),
    )
    count = story.new(f"the number of {container.many}", groups)
    size = story.new(f"the number of {many} in each {container.singular}", group_size)
    packed_amount = story.product_of(f"the number of {many} in the {container.many}", count, size)
    total = packed_amount
    if s.chance(0.3):
        over = s.n(2, max(group_size - 1, 3))
        rest = story.new(f"the number of {many} left over", over)
        total = story.sum_of(f"the number of {many} {person} has", packed_amount, rest)
        story.tell(rest, f"there are {over} {many} left over", at=3, weight=2, plain=False)
        story.ask(rest, f"how many {many} are left over")
        story.ask(packed_amount, f"how many {many} are in the {container.many}")
        story.use("left over")
    amount = int(story.value(total))
    story.tell(total, f"{person} {has} {noun(amount)}", weight=3)
    story.hint(total, f"{person} {has} some {many}", 0)
    story.tell(count, f"{person} {put} the {many} into {container(groups)}[|, with the same number in each]", 1, 2.5)
    story.hint(count, f"{person} {put} the {many} into {container.many}", 1)
    story.tell(
        size,
        f"[each {container.singular} holds|every {container.singular} gets] {noun(group_size)}",
        at=2,
        weight=2.5,
        plain=False,
    )
    story.ask(
        count,
        f"how many {container.many} does {person} [need|use|fill]",
        f"how many {container.many} are there",
    )
    story.ask(size, f"how many {many} are [in each {container.singular}|there in every {container.singular}]")
    story.ask(total, f"how many {many} does {person} have [altogether|in all|in total]")
    if s.chance(0.3):
        weight = s.n(2, 40)
        story.tell(_noise(story, weight), f"each {container.singular} weighs {weight} pounds", at=2.5, plain=False)
    story.use("groups of")
    story.hold(total, person, noun, 5)


def _noise(story: Story, value: int) -> int:
    """Add a number from which nothing follows."""
    story.use("irrelevant number")
    return story.new("a number that plays no role", value)


def share_equally(story: Story) -> None:
    """Begin a story about a person who shares things equally among people."""
    s = story.scene
    person, noun, group = s.person(), s.thing(*words.THINGS), s.group()
    many, groups, share = noun.many, s.n(2, 24), s.n(2, 25)
    count = story.new(f"the number of {group.many}", groups)
    size = story.new(f"the number of {many} for each {group.singular}", share)
    total_given = story.product_of(f"the number of {many} for all the {group.many}", count, size)
    total = total_given
    if s.chance(0.3):
        kept_amount = s.n(2, 30)
        rest = story.new(f"the number of {many} {person} kept", kept_amount)
        total = story.sum_of(f"the number of {many} {person} had", total_given, rest)
        story.tell(rest, f"{person} kept {noun(kept_amount)} for {person.him}self", at=3, weight=2, plain=False)
        story.ask(rest, f"how many {many} did {person} keep")
        story.ask(total_given, f"how many {many} did {person} give away [altogether|in all]")
        story.use("left over")
    story.tell(total, f"{person} had {noun(int(story.value(total)))}", weight=3)
    story.hint(total, f"{person} had some {many}", 0)
    action = s.pick("shared the {n} equally among {g}", "gave the same number of {n} to each of {g}").format(
        n=many, g="{g}"
    )
    if total != total_given:
        action = f"gave the same number of {many} to each of {{g}}"
    story.tell(count, f"{person} {action.format(g=group(groups))}", at=1, weight=2.5, plain=False)
    story.hint(count, f"{person} {action.format(g=f'some {group.many}')}", 1)
    story.tell(
        size,
        f"[each {group.singular} got|every {group.singular} received] {noun(share)}",
        at=2,
        weight=2.5,
        plain=False,
    )
    story.ask(count, f"how many {group.many} were there", f"how many {group.many} got {many}")
    story.ask(
        size, f"how many {many} did each {group.singular} [get|receive]", f"how many did each {group.singular} get"
    )
    if total == total_given:
        story.ask(total, f"how many {many} did {person} [share|have] [altogether|in all]")
    else:
        story.ask(total, f"how many {many} did {person} have [at first|in the beginning]")
    story.use("share equally")


def rows(story: Story) -> None:
    """Begin a story about rows of chairs, lines of cars or teams of players. Some of them may be new or empty."""
    s = story.scene
    thing, row, where = s.pick(*vocabulary.ROWS)
    noun, line = s.noun(thing), s.noun(row)
    groups, row_size = s.n(2, 40), s.n(2, 40)
    count = story.new(f"the number of {line.many}", groups)
    size = story.new(f"the number of {noun.many} in each {line.singular}", row_size)
    total = story.product_of(f"the number of {noun.many} {where}", count, size)
    story.tell(count, f"there are {line(groups)} of {noun.many} {where}", weight=3)
    story.hint(count, f"the {noun.many} {where} are in equal {line.many}", 0)
    story.tell(
        size, f"[each {line.singular} has {noun(row_size)}|there are {noun(row_size)} in each {line.singular}]", 1, 3
    )
    story.tell(total, f"there are {noun(int(story.value(total)))} {where} [altogether|in all]", at=1.5, weight=2)
    story.ask(count, f"how many {line.many} of {noun.many} are there {where}", f"how many {line.many} are there")
    story.ask(size, f"how many {noun.many} are in each {line.singular}")
    story.ask(total, f"how many {noun.many} are {where} [altogether|in all|in total]")
    story.use("groups of")
    if s.chance(0.4):
        adjective = s.pick("new", "old", "empty" if thing in ("chair", "desk", "tent", "cup") else "small")
        some = s.n(2, groups * row_size - 1)
        part = story.new(f"the number of {adjective} {noun.many}", some)
        rest = story.less(f"the number of the other {noun.many}", total, part)
        story.tell(part, f"of the {noun.many}, {some} are {adjective}", at=2, weight=2, plain=False)
        story.ask(rest, f"how many {noun.many} {where} are not {adjective}")
        story.ask(part, f"how many of the {noun.many} are {adjective}")
        story.tell(rest, f"of the {noun.many}, {int(story.value(rest))} are not {adjective}", at=2, plain=False)
        story.use("part of")


def two_kinds_of_groups(story: Story) -> None:
    """Begin a story about groups of two sizes in two kinds of containers, or about things with legs and wheels."""
    s = story.scene
    if s.chance(0.3):
        _count_parts(story)
        return
    person, noun = s.person(), s.thing(*words.THINGS)
    totals = []
    kinds = (s.container(), s.container())
    owner: list[Person] = [person, s.person()] if s.chance(0.4) else [person, person]
    verb = s.pick("has", "bought", "made")
    base = {"has": "does {p} have", "bought": "did {p} buy", "made": "did {p} make"}[verb]
    for index, (container, who) in enumerate(zip(kinds, owner, strict=True)):
        groups, group_size = s.n(2, 15), s.n(2, 20)
        count = story.new(f"the number of {container.many}", groups)
        size = story.new(f"the number of {noun.many} in each {container.singular}", group_size)
        total = story.product_of(f"the number of {noun.many} in the {container.many}", count, size)
        totals.append((total, who, container))
        clause = f"{who} {verb} {container(groups)} of {noun.many}"
        story.tell(
            (count, size), f"{clause} with {group_size} in each {container.singular}", at=index, weight=3, plain=False
        )
        story.tell(count, clause, at=index)
        some = f"{who} {verb} some {container.many} of {noun.many}"
        story.hint(count, some, index - 0.1, with_one_of=(size,))
        story.tell(size, f"each {container.singular} holds {noun(group_size)}", at=index + 0.5, plain=False)
        story.tell(total, f"{who} {verb} {noun(int(story.value(total)))} in {container.many}", at=index, weight=0.6)
        story.ask(total, f"how many {noun.many} are in {who}'s {container.many}")
        story.ask(count, f"how many {container.many} of {noun.many} {base.format(p=who)}")
        story.ask(size, f"how many {noun.many} are in each {container.singular}")
    _sum_and_gap(story, noun, totals, base)
    story.use("groups of")


def _sum_and_gap(story: Story, noun: Noun, totals: list[tuple[int, Person, Noun]], base: str) -> None:
    (first_total, p, _), (second_total, q, _) = totals
    both = story.sum_of(f"the number of all {noun.many}", first_total, second_total)
    whose = base.format(p=p) if p is q else base.format(p=f"{p} and {q}").replace("does", "do", 1)
    story.ask(both, f"how many {noun.many} {whose} [altogether|in all|in total]")
    story.tell(both, f"there are {noun(int(story.value(both)))} altogether", at=3, weight=0.6, plain=False)
    a, b = story.value(first_total), story.value(second_total)
    if a != b:
        high, low = (totals[0], totals[1]) if a > b else (totals[1], totals[0])
        gap = story.less(f"the difference between both numbers of {noun.many}", high[0], low[0])
        story.ask(gap, f"how many more {noun.many} are in the {high[2].many} than in the {low[2].many}")


def _count_parts(story: Story) -> None:
    s = story.scene
    parts = s.pick("legs", "wheels")
    (first_thing, _, first), (second_thing, _, second) = s.rng.sample(
        [item for item in vocabulary.BUILT_OF if item[1] == parts], 2
    )
    a, b = s.noun(first_thing), s.noun(second_thing)
    where = s.pick("in a toy shop", "in a picture", "in a film", "in a book") if parts == "legs" else "in a garage"
    x, y = s.n(2, 20), s.n(2, 20)
    counts = story.new(f"the number of {a.many}", x), story.new(f"the number of {b.many}", y)
    totals = []
    for noun, count, parts_each in ((a, counts[0], first), (b, counts[1], second)):
        size = story.new(f"the number of {parts} of each {noun.singular}", parts_each)
        total = story.product_of(f"the number of {parts} of the {noun.many}", count, size)
        story.tell(
            (count, size), f"there are {noun(int(story.value(count)))} with {parts_each} {parts} each {where}", weight=3
        )
        story.ask(total, f"how many {parts} do the {noun.many} have")
        totals.append(total)
    both = story.sum_of(f"the number of all {parts}", *totals)
    story.ask(both, f"how many {parts} are there {where} [altogether|in all]", f"how many {parts} do they all have")
    animals = story.sum_of(f"the number of {a.many} and {b.many}", *counts)
    story.ask(animals, f"how many {a.many} and {b.many} are there [altogether|in all]")
    story.use("groups of")
