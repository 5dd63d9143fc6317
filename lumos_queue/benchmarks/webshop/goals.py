"""Generate goals for the generated shop: a reworded instruction, and the gold words that find the product.

A goal is made from a product: its attributes, a value of each group of options, a price limit above its price. A goal
is retained if the actions with its gold words lead to the product (gold.py). Products of the same kind with the same
attributes are in the same split, and so are their goals. So train, dev and test have no product and no goal in common,
and test has combinations of kind and attributes that no other split has.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lumos_queue.actions.shop.interface import RESULTS_SHOWN
from lumos_queue.actions.shop.kinds import KINDS, Kind
from lumos_queue.actions.shop.lexicon import ATTRIBUTES, GROUP_NAMES, OPTIONS
from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.reward import Goal
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.errors import unknown

SPLITS = ("train", "dev", "test")
SAID_OTHERWISE = 0.5  #: how often other words are used for an attribute, an option or a kind
SIDETRACKED = 0.2  #: how often an instruction has an irrelevant remark
STALE = 2_000  #: samples without a new goal, after which a split counts as exhausted
FOLLOWING = 4  #: of the price limits above a price, the number to sample from, as in WebShop
PRICE_LIMITS = tuple(10 * step for step in range(1, 100))  #: dollars

_OPENINGS = ("i need", "i am looking for", "find me", "show me", "i want to buy", "get me")
#: Group to the phrase for a value's own word, and the phrase for another word.
_OPTION_PHRASES = {
    "color": ("in {}", "in {}"),
    "size": ("in size {}", "in a {} size"),
    "shoe": ("in size {}", "in size {}"),
    "bed": ("in {} size", "for a {}"),
    "pack": ("sold as {}", "{}"),
    "flavor": ("in {}", "with a {} taste"),
    "length": ("{} long", "{} long"),
}
_SIDETRACKS = (
    "my old one was {color}",
    "my brother has a {color} one",
    "it goes with my {kind}",
    "i already bought a {kind}",
)


@dataclass(frozen=True, slots=True)
class WordedGoal:
    """A goal with its gold words."""

    instruction: str
    goal: Goal
    search: str  #: attributes and kind
    words: str  #: to compare with: attributes, kind and options
    options: tuple[str, ...]  #: to click, in the order of the instruction


def split_of(product: Product) -> str:
    """Return the split of a product by its kind and attributes: 7 of 10 are in train, 1 in dev, 2 in test."""
    key = ", ".join((product.query, *sorted(product.attributes)))
    bucket = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) % 10
    return "train" if bucket < 7 else "dev" if bucket == 7 else "test"


@lru_cache(maxsize=len(SPLITS))
def _products(split: str) -> tuple[Product, ...]:
    return tuple(product for product in open_stock({}).products.values() if split_of(product) == split)


def generate_goals(split: str, seed: int = 0) -> Iterator[WordedGoal]:
    """Yield different goals of a split whose gold search finds their product. Their other actions are not checked.

    Raises SpecError for an unknown split.
    """
    if split not in SPLITS:
        raise unknown("split of webshop", split, SPLITS)
    return filter(_is_findable, _draw_goals(split, random.Random(f"goals {seed} {split}")))


def _is_findable(worded_goal: WordedGoal) -> bool:
    return worded_goal.goal.asin in _search(worded_goal.search)


@lru_cache(maxsize=10_000)
def _search(search: str) -> tuple[str, ...]:
    return tuple(product.asin for product in open_stock({}).index.search(search, RESULTS_SHOWN))


def _draw_goals(split: str, rng: random.Random) -> Iterator[WordedGoal]:
    """Sample goals that differ in product or options. Stop after STALE samples in succession without a new goal."""
    known_goals: set[tuple[str, ...]] = set()
    stale = 0
    while stale < STALE:
        stale += 1
        worded_goal = _word_goal(rng.choice(_products(split)), rng)
        key = (worded_goal.goal.asin, *sorted(worded_goal.options))
        if key not in known_goals:
            known_goals.add(key)
            stale = 0
            yield worded_goal


def _word_goal(product: Product, rng: random.Random) -> WordedGoal:
    kind = next(candidate for candidate in KINDS if candidate.name == product.query)
    names = rng.sample(product.attributes, len(product.attributes))
    option_values = {group: rng.choice(product.options[GROUP_NAMES[group]]) for group in kind.groups}
    before = [name for name in names if rng.random() < 0.5]
    after = [name for name in names if name not in before]
    groups = rng.sample(kind.groups, len(kind.groups))
    limit = price_limit(product.price, rng)
    assert limit is not None, "the generated prices leave room for a limit"
    phrases = [
        f"{rng.choice(_OPENINGS)} {_join([_before(name, rng) for name in before])}{_kind(kind, rng)}",
        *(_after(name, rng) for name in after),
        *(_option(group, option_values[group], rng) for group in groups),
    ]
    instruction = (
        " ".join(phrases) + _sidetrack(kind, option_values, rng) + f", and price lower than {limit:.2f} dollars"
    )
    options = tuple(option_values[group] for group in groups)
    search = " ".join((*before, *after, kind.name))
    goal = Goal(
        product.asin,
        product.category,
        product.query,
        product.title,
        product.product_category,
        (*before, *after),
        options,
        float(limit),
    )
    return WordedGoal(instruction, goal, search, " ".join((search, *options)), options)


def price_limit(price: float, rng: random.Random) -> int | None:
    """Return a limit in dollars: the larger of two random limits from the next ones above a price, as in WebShop.

    Return None if fewer than two limits are above the price.
    """
    next_limits = [limit for limit in PRICE_LIMITS if limit > price][:FOLLOWING]
    return max(rng.sample(next_limits, 2)) if len(next_limits) > 1 else None


def _join(parts: list[str]) -> str:
    return "".join(f"{part} " for part in parts)


def _before(name: str, rng: random.Random) -> str:
    return rng.choice(ATTRIBUTES[name].before) if rng.random() < SAID_OTHERWISE else name


def _after(name: str, rng: random.Random) -> str:
    return rng.choice(ATTRIBUTES[name].after) if rng.random() < SAID_OTHERWISE else f"that is {name}"


def _kind(kind: Kind, rng: random.Random) -> str:
    return rng.choice(kind.synonyms) if rng.random() < SAID_OTHERWISE else kind.name


def _option(group: str, value: str, rng: random.Random) -> str:
    is_reworded = rng.random() < SAID_OTHERWISE
    return _OPTION_PHRASES[group][is_reworded].format(rng.choice(OPTIONS[group][value]) if is_reworded else value)


def _sidetrack(kind: Kind, option_values: dict[str, str], rng: random.Random) -> str:
    """Return '' or a remark that misleads a search for all words: it names another colour or kind of product."""
    if rng.random() >= SIDETRACKED:
        return ""
    colour = rng.choice([name for name in OPTIONS["color"] if name not in option_values.values()])
    other_name = rng.choice([other_kind.name for other_kind in KINDS if other_kind.category != kind.category])
    return f", {rng.choice(_SIDETRACKS).format(color=colour, kind=other_name)}"
