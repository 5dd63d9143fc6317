"""A story under construction: its quantities, clauses that state them, and questions that ask for them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

from lumos_queue.benchmarks.wordmath.composer.graph import Number, QuantityGraph
from lumos_queue.benchmarks.wordmath.scene import Noun, Person, Scene


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence that states quantities, without its full stop. `[a|b]` are alternatives.

    It starts with a lower-case letter or a name.
    """

    states: tuple[int, ...]
    text: str
    moment: float = 0  #: time in the story; clauses of the same time come in any order
    weight: float = 1.0  #: relative frequency of its selection
    plain: bool = True  #: whether it can be joined with another clause, and come after 'if'


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence about a quantity whose number is not stated, such as `Ann had some pens`."""

    text: str
    moment: float
    with_one_of: tuple[int, ...]  #: used only if one of these is stated or asked for; empty: always used


@dataclass(frozen=True, slots=True)
class Holding:
    """A countable amount that a person has. Extensions can continue the story with it."""

    quantity: int
    who: Person
    noun: Noun
    moment: float  #: time in the story at which the person has it


class Story:
    """The state that a plot fills: the scene's vocabulary and choices, the graph, clauses and questions."""

    def __init__(self, rng: random.Random):
        self.scene = Scene(rng)
        self.rng = rng
        self.graph = QuantityGraph()
        self.clauses: list[Clause] = []
        self.asks: dict[int, list[str]] = {}
        self.hints: dict[int, Hint] = {}  #: by quantity
        self.holdings: list[Holding] = []
        self.relations: set[str] = set()  #: names of the relations and events of the story

    def reseed(self, seed: str) -> None:
        """Replace the random generator: all later choices depend on the seed alone."""
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
        """Add a quantity, the whole minus the part, and return its index."""
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
        quantities = states if isinstance(states, tuple) else (states,)
        self.clauses.append(Clause(quantities, text, at, weight, plain))

    def ask(self, quantity: int, *questions: str) -> None:
        self.asks.setdefault(quantity, []).extend(questions)

    def hint(self, quantity: int, text: str, at: float, with_one_of: tuple[int, ...] = ()) -> None:
        self.hints[quantity] = Hint(text, at, with_one_of)

    def use(self, relation: str) -> None:
        self.relations.add(relation)

    def hold(self, quantity: int, who: Person, noun: Noun, at: float) -> None:
        self.holdings.append(Holding(quantity, who, noun, at))


def tidy(value: Number) -> Number:
    """Return a whole number as an `int`, and any other number with two decimals, as an amount of money."""
    if isinstance(value, int):
        return value
    return int(value) if value == int(value) else value.quantize(Decimal("0.01"))
