"""A story under construction: its quantities, a clause for what is told, a question for what may be asked."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

from lumos_queue.benchmarks.wordmath.composer.graph import Number, QuantityGraph
from lumos_queue.benchmarks.wordmath.scene import Noun, Person, Scene


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence without its full stop that states quantities; `[a|b]` are alternatives.

    It starts in lower case, unless with a name.
    """

    states: tuple[int, ...]
    text: str
    at: float = 0  #: when in the story; those of one time may come in any order
    weight: float = 1.0  #: how often it is chosen, compared with the others
    plain: bool = True  #: whether it can be joined with another, and stand after 'if'


@dataclass(frozen=True, slots=True)
class Hint:
    """What is said of a quantity whose number is not told, as `Ann had some pens`."""

    text: str
    at: float
    with_one_of: tuple[int, ...]  #: it is only said when one of these is told or asked for; empty: always


@dataclass(frozen=True, slots=True)
class Holding:
    """A countable amount in somebody's hands: what an extension may go on with."""

    quantity: int
    who: Person
    noun: Noun
    at: float  #: when in the story it is reached


class Story:
    """What a plot works with: the scene's vocabulary and choices, the graph, clauses and questions."""

    def __init__(self, rng: random.Random):
        self.scene = Scene(rng)
        self.rng = rng
        self.graph = QuantityGraph()
        self.clauses: list[Clause] = []
        self.asks: dict[int, list[str]] = {}
        self.hints: dict[int, Hint] = {}  #: what is said of a quantity whose number is not told
        self.holdings: list[Holding] = []
        self.relations: set[str] = set()  #: names of the relations and events that were used

    def reseed(self, seed: str) -> None:
        """Make the choices from here on those of the seed."""
        self.rng = self.scene.rng = random.Random(seed)

    # --- quantities

    def new(self, name: str, value: Number) -> int:
        if value <= 0:
            self.scene.require(False)
        return self.graph.add(name, value)

    def constant(self, value: int) -> int:
        return self.graph.add(str(value), value, constant=True)

    def value(self, index: int) -> Number:
        return self.graph.value(index)

    def sum_of(self, name: str, *parts: int) -> int:
        whole = self.new(name, tidy(sum(self.value(part) for part in parts)))
        self.graph.sum(whole, *parts)
        return whole

    def less(self, name: str, whole: int, part: int) -> int:
        """A new quantity: the whole without the part."""
        rest = self.new(name, tidy(self.value(whole) - self.value(part)))
        self.graph.sum(whole, part, rest)
        return rest

    def product_of(self, name: str, first: int, second: int) -> int:
        whole = self.new(name, tidy(self.value(first) * self.value(second)))
        self.graph.product(whole, first, second)
        return whole

    # --- words

    def tell(
        self,
        states: int | tuple[int, ...],
        text: str,
        at: float = 0,
        weight: float = 1.0,
        plain: bool = True,
    ) -> None:
        known = states if isinstance(states, tuple) else (states,)
        self.clauses.append(Clause(known, text, at, weight, plain))

    def ask(self, quantity: int, *questions: str) -> None:
        self.asks.setdefault(quantity, []).extend(questions)

    def hint(self, quantity: int, text: str, at: float, with_one_of: tuple[int, ...] = ()) -> None:
        self.hints[quantity] = Hint(text, at, with_one_of)

    def use(self, relation: str) -> None:
        self.relations.add(relation)

    def hold(self, quantity: int, who: Person, noun: Noun, at: float) -> None:
        self.holdings.append(Holding(quantity, who, noun, at))


def tidy(value: Number) -> Number:
    """A whole number as an `int`, an amount of money with its two decimals."""
    if isinstance(value, int):
        return value
    return int(value) if value == int(value) else value.quantize(Decimal("0.01"))
