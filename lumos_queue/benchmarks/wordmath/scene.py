"""A scene: the random choices, the sentences and the gold program of one problem."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.program import GoldValue, Operand, ProblemBuilder, Sum

T = TypeVar("T")

_CHOICE = re.compile(r"\[([^\[\]]*)\]")


class Redraw(Exception):
    """Raised if the random choices do not make a good problem. The caller then makes other choices."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a name and pronouns."""

    name: str
    he: str
    him: str
    his: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Noun:
    """A countable noun. `noun(3)` returns '3 apples'. With `spelled`, small numbers are spelled out."""

    singular: str
    many: str
    kind: str = ""
    spelled: bool = False

    def __call__(self, count: int, adjective: str = "") -> str:
        number = words.NUMBERS[count] if self.spelled and count < len(words.NUMBERS) else str(count)
        return f"{number} {adjective + ' ' if adjective else ''}{self.singular if count == 1 else self.many}"

    @property
    def a(self) -> str:
        takes_an = self.singular[0] in "aeiouAEIOU" and not self.singular.startswith("uni")
        return f"{'an' if takes_an else 'a'} {self.singular}"


@dataclass(frozen=True, slots=True)
class Crowd:
    """People, animals or things that come to a place and leave it. `come` and `go` are their verbs."""

    who: Noun
    location: str
    come: str
    go: str


class Scene:
    """The state that a template fills: choices, sentences and program. All choices depend on the seed of `rng`."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.program = ProblemBuilder()
        self.body: list[str] = []
        self.question = ""
        self.cast: list[Person] = []
        self.numbers: set[int] = set()
        self.taken: set[str] = set()
        self.spelled = rng.random() < 0.08
        self.currency = rng.choices(("$", " dollars", " euros"), (80, 14, 6))[0]

    # --- choices

    def pick(self, *options: T) -> T:
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def n(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`. Small numbers are more frequent (uniform in the logarithm).

        Numbers of the scene rarely repeat.
        """
        number = low
        for _ in range(8):
            number = int(math.exp(self.rng.uniform(math.log(low), math.log(high + 1))))
            number = min(max(number, low), high)
            if number not in self.numbers:
                break
        self.numbers.add(number)
        return number

    def price(self, low: int, high: int) -> Decimal | int:
        """Return an amount of money. A fifth of the amounts in $ have cents, the others are whole."""
        whole = self.n(low, high)
        if self.currency != "$" or not self.chance(0.2):
            return whole
        return Decimal(whole) + Decimal(self.pick("0.50", "0.25", "0.75", "0.20", "0.40", "0.99", "0.10"))

    def some(self, names: Sequence[str]) -> str:
        """Return a name that the scene has not used before."""
        free = [name for name in names if name not in self.taken]
        name = self.rng.choice(free)
        self.taken.add(name)
        return name

    def person(self, female: bool | None = None) -> Person:
        female = self.chance(0.5) if female is None else female
        pronouns = ("she", "her", "her") if female else ("he", "him", "his")
        person = Person(self.some(words.FEMALE if female else words.MALE), *pronouns)
        self.cast.append(person)
        return person

    def people(self, count: int) -> list[Person]:
        return [self.person() for _ in range(count)]

    def noun(self, singular: str, kind: str = "") -> Noun:
        return Noun(singular, words.plural(singular), kind, self.spelled)

    def thing(self, *kinds: str) -> Noun:
        kind = self.rng.choice(kinds or tuple(words.THINGS))
        return self.noun(self.some(words.THINGS[kind]), kind)

    def things(self, count: int, *kinds: str) -> list[Noun]:
        """Return different things of one kind."""
        kind = self.rng.choice(kinds or tuple(words.THINGS))
        return [self.thing(kind) for _ in range(count)]

    def container(self) -> Noun:
        return self.noun(self.some(words.CONTAINERS))

    def colors(self, count: int) -> list[str]:
        """Return different colours, or sometimes two sizes."""
        looks = words.COLORS[:13] if self.chance(0.85) or count > 2 else words.COLORS[14:16]
        return [self.some(looks) for _ in range(count)]

    def days(self, count: int) -> list[str]:
        """Return days in the order of the week."""
        return [words.DAYS[index] for index in sorted(self.rng.sample(range(7), count))]

    def months(self, count: int) -> list[str]:
        """Return months in the order of the year."""
        return [words.MONTHS[index] for index in sorted(self.rng.sample(range(12), count))]

    def crowd(self) -> Crowd:
        who, location, come, go = self.rng.choice(words.CROWDS)
        return Crowd(self.noun(who), location, self.say(come), self.say(go))

    def group(self) -> Noun:
        """Return a noun for a kind of people."""
        return self.noun(self.pick("student", "child", "guest", "friend", "camper", "player", "worker", "neighbor"))

    # --- wording

    def say(self, text: str) -> str:
        """Return the text with an alternative of each `[a|b|c]`, selected at random. They may be nested."""
        while (choice := _CHOICE.search(text)) is not None:
            text = text[: choice.start()] + self.rng.choice(choice[1].split("|")) + text[choice.end() :]
        return text

    def usd(self, amount: Operand) -> str:
        if self.currency == "$":
            return f"${amount}"
        return f"{amount}{self.currency.removesuffix('s') if amount == 1 else self.currency}"

    def loses(self, partner: Person | str, thing: Noun, count: int) -> str:
        """Return a past-tense clause for a loss of `count` things: 'gave 3 apples to Omar'."""
        some = (
            self.say(f"[{thing(count)}|{thing(count)}|{count} of them|{count} {thing.many}]")
            if count > 1
            else thing(count)
        )
        return self.say(words.LOSSES[thing.kind].format(n=some, q=partner))

    def gains(self, partner: Person | str, thing: Noun, count: int) -> str:
        """Return a past-tense clause for a gain of `count` things: 'bought 3 more apples'."""
        some = self.say(f"[{thing(count)}|{thing(count, 'more')}|{thing(count, 'more')}]")
        return self.say(words.GAINS[thing.kind].format(n=some, q=partner))

    def tell(self, *sentences: str) -> None:
        self.body += [self.say(sentence) for sentence in sentences]

    def tell_any_order(self, *sentences: str) -> None:
        """Add sentences to the story in a random order. None of them may refer to another sentence."""
        self.tell(*self.rng.sample(sentences, len(sentences)))

    def ask(self, *questions: str) -> None:
        self.question = self.say(self.rng.choice(questions))

    # --- the gold program

    def require(self, condition: bool) -> None:
        if not condition:
            raise Redraw

    def add(self, quantity: str, *operands: Operand) -> GoldValue:
        return self.program.calculate(quantity, Sum("+", operands))

    def sub(self, quantity: str, *operands: Operand) -> GoldValue:
        """Subtract the other operands from the first."""
        return self.program.calculate(quantity, Sum("-", operands))

    def mul(self, quantity: str, *operands: Operand) -> GoldValue:
        return self.program.calculate(quantity, Sum("*", operands))

    def div(self, quantity: str, *operands: Operand) -> GoldValue:
        return self.program.calculate(quantity, Sum("/", operands))

    def percent(self, quantity: str, whole: Operand, rate: Operand) -> GoldValue:
        return self.program.calculate(quantity, Sum("%", (whole, rate)))

    def fraction(self, quantity: str, whole: Operand, over: int, under: int) -> GoldValue:
        """Add the steps that compute `over`/`under` of the whole, and return the result; a division if `over` is 1."""
        if over == 1:
            return self.div(quantity, whole, under)
        return self.program.calculate(quantity, Sum("of", (whole, over, under)))

    def mul_both(
        self, first: tuple[str, Operand, Operand], second: tuple[str, Operand, Operand]
    ) -> tuple[GoldValue, GoldValue]:
        """Compute two products under one subgoal. Each argument is (quantity, operand, operand)."""
        products = (Sum("*", first[1:]), Sum("*", second[1:]))
        return self.program.calculate_both((first[0], second[0]), products)
