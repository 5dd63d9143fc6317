"""Amounts that change by gains, losses and gifts. Questions ask for the start, a change or the end."""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.composer import vocabulary
from lumos_queue.benchmarks.wordmath.composer.story import Story
from lumos_queue.benchmarks.wordmath.scene import Noun, Person

END = 10.0  #: time of the end of the story; events are at 1, 2, 3
THEN = "[|||then |later |after that, |the next day, ]"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that changes an amount by a quantity."""

    quantity: int
    gain: bool
    past: str  #: `gave to Omar`
    base: str  #: `give to Omar`


def gains_and_losses(story: Story) -> None:
    """Begin a story about one or two kinds of a person's things, which come and go."""
    s = story.scene
    person = s.person()
    kind = s.pick(*words.THINGS)
    noun = s.thing(kind)
    _chain(story, person, noun, s.pick(1, 1, 1, 2, 2, 3))
    if s.chance(0.3):  # things that play no role, unless the question is about them
        _chain(story, person, s.thing(kind), s.pick(0, 1), also=True)


def _chain(story: Story, person: Person, noun: Noun, count: int, also: bool = False) -> None:
    s, many = story.scene, noun.many
    start_value = s.n(3, s.pick(15, 60, 300))
    start = story.new(f"the number of {many} {person} had at first", start_value)
    has = f"{person} also had" if also else f"{person} [had|had|started with|owned]"
    story.tell(start, f"{has} {noun(start_value)}", at=0.5 if also else 0, weight=4)
    story.hint(start, f"{person} {'also ' if also else ''}had some {many}", 0.5 if also else 0)
    story.ask(
        start,
        f"how many {many} did {person} have [at first|at the start|to begin with|in the beginning]",
        f"with how many {many} did {person} start",
    )
    now, events = start, []
    for number in range(1, count + 1):
        now = _event(story, person, noun, now, number, events)
    if not events:
        return
    at_end = story.value(now)
    is_loss = not events[-1].gain
    ends = f"[now {person} has|in the end, {person} had|{person} now has]"
    story.tell(now, f"{ends} {noun(int(at_end))}{' left' if is_loss else ''}", at=END, weight=2, plain=False)
    last = "[left|left|now]" if is_loss else "[now|in the end|now|in all]"
    story.ask(now, f"how many {many} does {person} have {last}", f"how many {many} does {person} have {last}")
    if is_loss:
        story.ask(now, f"how many {many} [are left|remain|does {person} still have]")
    story.hold(now, person, noun, END)
    _net(story, person, many, start, now)
    for first in range(len(events)):
        for second in range(first + 1, len(events)):
            both = _two_events(story, person, many, events[first], events[second])
            if both is not None and len(events) == 2:
                story.graph.sum(*((start, both, now) if is_loss else (now, start, both)))


def _event(story: Story, person: Person, noun: Noun, before: int, number: int, events: list[Event]) -> int:
    """Add a gain or a loss to the story, and return the index of the quantity after it."""
    s, many = story.scene, noun.many
    amount = int(story.value(before))
    gain = s.chance(0.45) or amount < 4
    used_verbs = {event.base for event in events}
    deeds = vocabulary.GAINS if gain else vocabulary.LOSSES
    past, base, _ = s.pick(
        *(deed for deed in deeds if (not deed[2] or noun.kind in deed[2]) and deed[1] not in used_verbs)
    )
    partner = s.person() if "{q}" in past else person
    base = base.format(q=partner)
    size = s.n(2, 90) if gain else s.n(2, amount - 2)
    name = f"the number of {many} {person} {past.format(n='', q=partner)}".replace("  ", " ").strip()
    change = story.new(name, size)
    story.use("gains" if gain else "loses")
    if gain:
        objects = f"[{noun(size)}|{noun(size, 'more')}|{noun(size, 'more')}]"
        after = story.sum_of(f"the number of {many} {person} had then", before, change)
    else:
        objects = f"[{noun(size)}|{noun(size)}|{size} of the {many}|{size} of {person.his} {many}]"
        after = story.less(f"the number of {many} {person} had then", before, change)
    story.tell(change, f"{THEN}{person} {past.format(n=objects, q=partner)}", at=number, weight=4, plain=False)
    some = f"some more {many}" if gain else f"some of {person.his} {many}"
    story.hint(change, f"{THEN}{person} {past.format(n=some, q=partner)}", number)
    story.ask(change, f"how many {many} did {person} {base}")
    if partner is not person and s.chance(0.45):
        _other_side(story, partner, noun, change, gain, number)
    events.append(Event(change, gain, past.format(n="", q=partner).replace("  ", " ").strip(), base))
    return after


def _other_side(story: Story, partner: Person, noun: Noun, change: int, gain: bool, number: int) -> None:
    """Add the amounts of the other person before and after the change."""
    s, many, size = story.scene, noun.many, int(story.value(change))
    before_value = s.n(2, 60) + (size if gain else 0)
    before = story.new(f"the number of {many} {partner} had at first", before_value)
    story.tell(before, f"{partner} had {noun(before_value)}", weight=2)
    name = f"the number of {many} {partner} had afterwards"
    after = story.less(name, before, change) if gain else story.sum_of(name, before, change)
    if before_value > 2:
        story.tell(after, f"now {partner} has {noun(int(story.value(after)))}", at=END, plain=False)
    story.ask(after, f"how many {many} does {partner} have [now|after that]")
    story.ask(before, f"how many {many} did {partner} have [at first|before that]")
    story.use("gives")


def _net(story: Story, person: Person, many: str, start: int, now: int) -> None:
    before, after = int(story.value(start)), int(story.value(now))
    if before == after:
        return
    high, low = (now, start) if after > before else (start, now)
    change = story.less(f"the change in the number of {many}", high, low)
    word = "more" if after > before else "fewer"
    story.ask(change, f"how many {word} {many} does {person} have now than [at first|at the start|before]")
    gap = int(story.value(change))
    if gap > 1:
        story.tell(change, f"now {person} has {gap} {word} {many} than at first", at=END, weight=0.8, plain=False)
    story.use("before and after")


def _two_events(story: Story, person: Person, many: str, first_event: Event, second_event: Event) -> int | None:
    """Add the comparison of two changes. If both are gains or both losses, add their sum, too, and return its index."""
    both = None
    if first_event.gain == second_event.gain:
        both = story.sum_of("the sum of both numbers", first_event.quantity, second_event.quantity)
        story.ask(
            both,
            f"how many {many} did {person} {first_event.base} and {second_event.base} [altogether|in all|in total]",
        )
    first, second = int(story.value(first_event.quantity)), int(story.value(second_event.quantity))
    if first == second:
        return both
    high, low = (first_event, second_event) if first > second else (second_event, first_event)
    difference = story.less("the difference between both numbers", high.quantity, low.quantity)
    story.ask(
        difference,
        f"how many more {many} did {person} {high.base} than {person.he} {low.past}",
        f"how many fewer {many} did {person} {low.base} than {person.he} {high.past}",
    )
    return both


def comings_and_goings(story: Story) -> None:
    """Begin a story about birds in a tree or passengers on a bus: some come, some go."""
    s = story.scene
    who, where, come, go = s.pick(*words.CROWDS)
    noun = s.noun(who)
    many = noun.many
    start_value = s.n(4, s.pick(20, 60, 200))
    now = start = story.new(f"the number of {many} {where} at first", start_value)
    first = s.pick("", "at first, ", "in the morning, ", "at noon, ")
    story.tell(start, f"{first}there were {noun(start_value)} {where}", weight=4)
    story.hint(start, f"{first}there were some {many} {where}", 0)
    story.ask(start, f"how many {many} were {where} [at first|in the beginning|at the start]")
    came, went = [], []
    gain = True
    for number in range(1, s.pick(1, 1, 2, 2, 3) + 1):
        amount = int(story.value(now))
        gain = amount < 4 or s.chance(0.5)
        size = s.n(2, 60) if gain else s.n(2, amount - 2)
        verb = s.say(come if gain else go)
        change = story.new(f"the number of {many} that {verb}", size)
        when = "at the next stop," if who == "passenger" and number > 1 else "[then|after a while,|later,|soon,]"
        subject = (
            f"[{noun(size, 'more')}|{size} more|{noun(size, 'other')}]"
            if gain
            else f"[{size} of the {many}|{noun(size)}]"
        )
        story.tell(change, f"{when} {subject} {verb}", at=number, weight=4, plain=False)
        story.hint(change, f"{when} some {'more ' if gain else ''}{many} {verb}", number)
        (came if gain else went).append(change)
        name = f"the number of {many} {where} then"
        now = story.sum_of(name, now, change) if gain else story.less(name, now, change)
        if len(came if gain else went) == 1:
            story.ask(change, f"how many {many} {verb}")
    if len(came) > 1 or len(went) > 1:  # 'how many came' is ambiguous then
        for change in (came if len(came) > 1 else []) + (went if len(went) > 1 else []):
            story.asks.pop(change, None)
    end = int(story.value(now))
    story.tell(now, f"[now there are {noun(end)}|in the end, there were {noun(end)}] {where}", END, 2, plain=False)
    story.ask(now, f"how many {many} are {where}{s.pick('', ' now', ' in the end')}")
    if not gain:
        story.ask(now, f"how many {many} [are left|stayed|remained] {where}")
    if len(came) == len(went) == 1:
        a, b = came[0], went[0]
        high, low = (a, b) if story.value(a) > story.value(b) else (b, a)
        if story.value(high) != story.value(low):
            difference = story.less("the difference between those who came and those who went", high, low)
            verbs = (s.say(come), s.say(go)) if high is a else (s.say(go), s.say(come))
            story.ask(difference, f"how many more {many} {verbs[0]} than {verbs[1]}")
    story.use("comes and goes")
