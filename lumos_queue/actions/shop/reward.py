"""WebShop's reward for a purchase (princeton-nlp/WebShop, `engine/goal.py`; spec/lumos.md 6.2).

    reward = r_type · (attributes found + options found + [price ≤ limit]) / (attributes + options + 1)

An option of the goal counts as found if a chosen option fits it (`options_found`), so that the reward is at most 1.
r_type compares the kinds of the two products. The title score is |shared nouns| / |nouns of the goal's title|
(0.2 for a title without nouns): 0 gives r_type 0, below 0.1 gives 0.1. Otherwise r_type is 1 when the query is the
same, two parts of the category are common, or the title score is above 0.2; else it is 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, utils

from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.words import nouns

FITS = 85  #: a token set ratio above this is a match
SAME_KIND, HARDLY = 0.2, 0.1  #: title scores

#: A colour with anything around it (`z2-pink`, `navy blue`) counts as the first of these that it contains.
_COLOURS = """
    amber apricot aqua azure beige black blue blush bronze brown burgundy camel caramel champagne charcoal cherry
    chocolate cobalt coffee copper coral cream crimson cyan denim emerald fuchsia gold graphite gray green grey indigo
    ivory jade khaki lavender leopard lemon lilac lime magenta maroon mauve mint mocha mustard navy nude olive orange
    peach pearl pink plum purple rainbow red rose ruby rust salmon sand sapphire scarlet silver sky slate tan taupe teal
    turquoise violet walnut white wine yellow
"""
COLOURS = tuple(_COLOURS.split())


@dataclass(frozen=True, slots=True)
class Goal:
    """The product that a visitor has to buy, in WebShop's fields."""

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_upper: float  #: dollars


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward and its parts, named as in WebShop's `reward_info`."""

    r_type: float
    title_score: float
    query_match: bool
    category_match: bool
    attributes: int  #: found
    options: int  #: found
    r_price: bool
    value: float  #: 0 to 1


def reward(goal: Goal, product: Product, price: float, selection: Mapping[str, str]) -> Reward:
    """Return the reward for buying a product. `price`: in dollars. `selection`: the chosen options, group to value."""
    titles = title_score(goal.name, product.title)
    query = goal.query == product.query
    category = len(_parts(goal.product_category) & _parts(product.product_category)) >= 2
    kind = r_type(titles, query, category)
    attributes, options = attributes_found(goal, product), options_found(goal, selection)
    fits = price <= goal.price_upper
    value = total(kind, attributes, options, fits, len(goal.attributes), len(goal.options))
    return Reward(kind, titles, query, category, attributes, options, fits, value)


def total(kind: float, attributes: int, options: int, fits: bool, all_attributes: int, all_options: int) -> float:
    """Return the reward by the formula of this module; `kind` is r_type, `fits` is [price ≤ limit]."""
    return kind * (attributes + options + fits) / (all_attributes + all_options + 1)


def title_score(goal_title: str, product_title: str) -> float:
    """Return the share of the goal's nouns that are in the product's title."""
    goal_nouns = nouns(goal_title)
    return len(set(goal_nouns) & set(nouns(product_title))) / len(goal_nouns) if goal_nouns else SAME_KIND


def r_type(titles: float, query: bool, category: bool) -> float:
    """Return r_type (1, 0.5, 0.1 or 0) by the rule of this module; `titles` is the title score."""
    if titles == 0:
        return 0.0
    if titles < HARDLY:
        return 0.1
    return 1.0 if query or category or titles > SAME_KIND else 0.5


def attributes_found(goal: Goal, product: Product) -> int:
    """Count the goal's attributes that the product has: in its list, or word for word in its texts."""
    return sum(
        any(_fits(product_attribute, attribute) for product_attribute in product.attributes)
        or _says(product, attribute)
        for attribute in goal.attributes
    )


def options_found(goal: Goal, selection: Mapping[str, str]) -> int:
    """Count the goal's options that fit a chosen option of any group. Options with a colour are compared by the colour.

    Another version of `engine/goal.py` counts the chosen options, compares sizes word for word, and also counts options
    that only the product's texts name, so that its count can exceed the number of the goal's options.
    """
    colours = [colour(value) for value in selection.values()]
    return sum(any(_fits(colour(option), value) for value in colours) for option in goal.options)


def colour(option: str) -> str:
    """Return the colour that an option contains, else the option."""
    return next((name for name in COLOURS if name in option), option)


def _fits(first: str, second: str) -> bool:
    """Return whether two texts are similar, as thefuzz computes it: without case and punctuation, ratio rounded."""
    return round(fuzz.token_set_ratio(first, second, processor=utils.default_process)) > FITS


def _says(product: Product, text: str) -> bool:
    return any(text in part.lower() for part in (product.title, " ".join(product.bullets), product.description))


def _parts(category: str) -> set[str]:
    return {part.strip() for part in category.split("›")}
